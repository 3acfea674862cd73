//! The address that a socket call is given.
//!
//! Danger: its bytes are the caller's, of any length and family.

/// A socket's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// IPv4 or IPv6 with its port.
    Ip(std::net::SocketAddr),
    /// A socket file.
    Path(Vec<u8>),
    /// A name in the abstract name space, without the leading NUL.
    Abstract(Vec<u8>),
    /// Another family's.
    Other,
}

/// An address as the kernel reads it.
pub(super) fn read(bytes: &[u8]) -> Address {
    let family = match bytes {
        [low, high, ..] => i32::from(u16::from_ne_bytes([*low, *high])),
        _ => return Address::Other,
    };
    let port = bytes.get(2..4).and_then(|port| port.try_into().ok()).map(u16::from_be_bytes);
    let part = |from: usize, length: usize| bytes.get(from..from + length);
    match (family, port) {
        (libc::AF_INET, Some(port)) => match part(4, 4).and_then(|ip| <[u8; 4]>::try_from(ip).ok()) {
            Some(ip) => Address::Ip((ip, port).into()),
            None => Address::Other,
        },
        (libc::AF_INET6, Some(port)) => match part(8, 16).and_then(|ip| <[u8; 16]>::try_from(ip).ok()) {
            Some(ip) => Address::Ip((ip, port).into()),
            None => Address::Other,
        },
        (libc::AF_UNIX, _) => match bytes.get(2..) {
            Some([0, name @ ..]) => Address::Abstract(name.to_vec()),
            Some(path) if !path.is_empty() => {
                let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
                Address::Path(path.get(..end).unwrap_or_default().to_vec())
            }
            _ => Address::Other,
        },
        _ => Address::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_each_family() {
        let inet = [2, 0, 0x1F, 0x90, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(read(&inet), Address::Ip("127.0.0.1:8080".parse().unwrap()));
        let mut inet6 = vec![10, 0, 0, 80, 0, 0, 0, 0];
        inet6.extend([0; 15]);
        inet6.extend([1, 0, 0, 0, 0]);
        assert_eq!(read(&inet6), Address::Ip("[::1]:80".parse().unwrap()));
        assert_eq!(read(b"\x01\0/run/x\0rest"), Address::Path(b"/run/x".to_vec()));
        assert_eq!(read(b"\x01\0\0name"), Address::Abstract(b"name".to_vec()));
        for short in [b"".as_slice(), b"\x02", b"\x02\0\0\x50", b"\x01\0", b"\x10\0\0\0"] {
            assert_eq!(read(short), Address::Other, "{short:?}");
        }
    }
}
