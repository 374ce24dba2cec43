mod body;
mod decode;
mod files;
mod network;
mod thinking;
