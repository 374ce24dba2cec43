mod actor;
mod cancel;
mod crash;
mod cursor;
mod faults;
mod rebuild;
mod waits;
mod world;
