//! The page is one safe file.
#![allow(clippy::unwrap_used, reason = "tests")]

mod boots;

use firstlight_views::html;

fn small_page() -> String {
    let (base, variant) = (boots::base(), boots::variant());
    html::page(&boots::page(&base, &variant))
}

/// The page without its data block.
fn shell(page: &str) -> String {
    let (before, rest) = page.split_once("id=\"data\">").unwrap();
    let (_, after) = rest.split_once("</script>").unwrap();
    before.to_owned() + after
}

#[test]
fn nothing_makes_markup_or_code_of_a_string() {
    let page = shell(&small_page());
    for door in [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "setTimeout(\"",
        "srcdoc",
        "DOMParser",
        "createContextualFragment",
        "javascript:",
    ] {
        assert!(!page.contains(door), "{door} is in the page");
    }
}

#[test]
fn nothing_comes_from_elsewhere() {
    // A place within a picture is none elsewhere.
    let page = shell(&small_page()).replace("url(#", "");
    for door in [
        "http:",
        "https:",
        "//cdn",
        "src=",
        "href=",
        "@import",
        "url(",
        "fetch(",
        "XMLHttpRequest",
        "WebSocket",
        "import(",
        "sendBeacon",
    ] {
        assert!(!page.contains(door), "{door} is in the page");
    }
    assert!(page.contains("default-src 'none'"));
    assert!(!page.contains("unsafe-inline"), "any script would run");
}

#[test]
fn a_log_cannot_end_the_data_block() {
    let (base, variant) = (boots::base(), boots::variant());
    let data = html::data(&boots::page(&base, &variant));
    assert!(!data.contains('<'), "a tag could begin in the data");
    assert!(
        data.contains("\\u003c/script>"),
        "the test's name is not in the data"
    );
    let value: serde_json::Value = serde_json::from_str(&data).unwrap();
    assert_eq!(value["title"], "a <small> boot & its variant");
    let page = small_page();
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(page.contains("<title>a &lt;small&gt; boot &amp; its variant - Firstlight</title>"));
}

#[test]
fn text_that_looks_like_a_slot_is_only_text() {
    let (base, variant) = (boots::base(), boots::variant());
    let mut page = boots::page(&base, &variant);
    page.title = "{{js}} {{data}}".to_owned();
    let text = html::page(&page);
    assert!(text.contains("<title>{{js}} {{data}} - Firstlight</title>"));
    assert_eq!(text.matches("id=\"data\"").count(), 1);
}
