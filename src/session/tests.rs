mod cursor;
