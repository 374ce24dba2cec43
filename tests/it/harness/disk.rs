//! The store of a running gateway, as somebody's shell has it.

use rusqlite::Connection;

use super::Gateway;

impl Gateway {
    pub(crate) fn database(&self) -> Connection {
        Connection::open(self.dir.join("store/portico.db")).unwrap()
    }
}

/// From here on no commit succeeds, whatever process asks for it.
pub(crate) fn refuse_writes(database: &Connection) {
    let refuse =
        |table: &str| format!("CREATE TRIGGER no_{table} BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'the disk is on fire'); END;");
    database.execute_batch(&(refuse("record") + &refuse("meta"))).unwrap();
}

pub(crate) fn take_writes(database: &Connection) {
    database.execute_batch("DROP TRIGGER no_record; DROP TRIGGER no_meta").unwrap();
}
