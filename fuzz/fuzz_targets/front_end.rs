//! The whole reading of a command line: any bytes, no panic, no hang, spans inside the text.
//!
//! `cargo +nightly fuzz run front_end -- -max_total_time=600 -max_len=4096 -timeout=5 -dict=fuzz/bash.dict`

#![no_main]

use libfuzzer_sys::fuzz_target;
use swbox::shell::{Trust, parse_bytes};

fuzz_target!(|bytes: &[u8]| {
    let script = parse_bytes(bytes);
    let text = String::from_utf8_lossy(bytes);
    if let Trust::Untrusted { code, span, .. } = &script.trust {
        assert!(!matches!(*code, "coverage" | "stuck" | "no_grammar"), "{code}");
        assert!(span.start <= span.end && span.end <= text.len());
    }
    for segment in &script.segments {
        for arg in &segment.argv {
            assert!(text.get(arg.span.start..arg.span.end).is_some());
        }
        assert!(text.get(segment.span.start..segment.span.end).is_some());
    }
    let _ = swbox::classify::classify(&text, &script, &swbox::classify::Environment::default());
});
