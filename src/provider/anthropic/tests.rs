mod body;
mod decode;
mod network;
mod thinking;
