#![no_main]

use agent::config::{AgentConfig, FirstLight, Out, Words};

// What the agent is told: by the lab's file, and by the kernel's command line.
// What is understood is written again as something that means the same.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(config) = AgentConfig::parse(&text)
        && let Ok(again) = config.to_text()
    {
        assert_eq!(AgentConfig::parse(&again), Ok(config));
    }
    let (words, _) = Words::parse(&text);
    if let Some(first_light) = words.first_light {
        assert_eq!(
            FirstLight::parse(&first_light.to_string()),
            Some(first_light)
        );
    }
    if let Some(out) = words.out {
        assert_eq!(Out::parse(&out.to_string()), Some(out));
    }
});
