//! Files of Barebox, made by hand.

/// The environment of Barebox with one file in it, as `bareboxenv -s` writes it.
pub fn barebox() -> Vec<u8> {
    let mut data = Vec::new();
    for number in [0x67a8_c78d_u32, 2, 24 + 8] {
        data.extend(number.to_le_bytes());
    }
    data.extend(b"/nv/autoboot_timeout\0\0\0\0");
    for number in [0x68a8_c78d_u32, 0o100_777] {
        data.extend(number.to_le_bytes());
    }
    data.extend(b"3\n\0\0");
    let mut image = Vec::new();
    for number in [0x798f_ba79, 0, crc(&data), data.len() as u32, 1, 0] {
        image.extend(number.to_le_bytes());
    }
    let sum = crc(&image);
    image.extend(sum.to_le_bytes());
    image.extend(data);
    image
}

/// CRC-32, as of zlib.
pub fn crc(bytes: &[u8]) -> u32 {
    let step = |register: u32, byte: &u8| {
        (0..8).fold(register ^ u32::from(*byte), |r, _| {
            (r >> 1) ^ (0xedb8_8320 & (r & 1).wrapping_neg())
        })
    };
    !bytes.iter().fold(u32::MAX, step)
}
