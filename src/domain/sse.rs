//! A byte-wise parser of Server-Sent Events.
