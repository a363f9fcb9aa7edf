//! Protocol buffers as they lie in a file, written: no reading, no schema, and nothing to build.

/// A message under construction. A field that has its default need not be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Message(Vec<u8>);

impl Message {
    fn key(&mut self, field: u32, wire: u8) {
        varint(&mut self.0, u64::from(field) << 3 | u64::from(wire));
    }

    pub(super) fn int(mut self, field: u32, value: u64) -> Self {
        self.key(field, 0);
        varint(&mut self.0, value);
        self
    }

    pub(super) fn double(mut self, field: u32, value: f64) -> Self {
        self.key(field, 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(super) fn bytes(mut self, field: u32, value: &[u8]) -> Self {
        self.key(field, 2);
        varint(&mut self.0, value.len() as u64);
        self.0.extend(value);
        self
    }

    pub(super) fn text(self, field: u32, value: &str) -> Self {
        self.bytes(field, value.as_bytes())
    }

    pub(super) fn message(self, field: u32, value: &Self) -> Self {
        self.bytes(field, &value.0)
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

fn varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_the_encoding_guide() {
        assert_eq!(Message::default().int(1, 150).into_bytes(), [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().text(2, "testing").into_bytes(), b"\x12\x07testing");
        let inner = Message::default().int(1, 150);
        assert_eq!(Message::default().message(3, &inner).into_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        assert_eq!(Message::default().double(1, 1.0).into_bytes()[0], 0x09);
    }
}
