//! The page in a real browser: what it asks for, what it complains of, and whether zoom, legend, filter and
//! keys do what they say. Chromium is spoken to in its own protocol, over a pipe.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::of;
use super::tests::material;
use crate::view::View;

/// A browser with one tab.
pub(super) struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: String,
    next: u64,
    /// Everything that it told without being asked.
    events: Vec<Value>,
    profile: tempfile::TempDir,
}

impl Browser {
    pub(super) fn start(program: &str) -> Self {
        let profile = tempfile::tempdir().expect("a temporary directory");
        // Chromium takes commands on descriptor 3 and answers on 4: a shell puts our pipes there.
        let script = format!(
            "exec {program} --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage \
             --no-first-run --user-data-dir={} --window-size=1400,1000 --remote-debugging-pipe about:blank \
             3<&0 4>&1 </dev/null >/dev/null 2>&1",
            profile.path().display()
        );
        let mut child = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let (to, from) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let mut browser = Self {
            child,
            to,
            from: BufReader::new(from),
            session: String::new(),
            next: 0,
            events: Vec::new(),
            profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attached =
            browser.call("Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}));
        browser.session = attached["sessionId"].as_str().expect("a session").to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    fn read(&mut self) -> Value {
        let mut message = Vec::new();
        let read = self.from.read_until(0, &mut message).expect("the browser answers");
        assert!(read > 0, "the browser ended");
        message.pop();
        serde_json::from_slice(&message).expect("the browser speaks JSON")
    }

    pub(super) fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).expect("the browser listens");
        loop {
            let mut answer = self.read();
            if answer["id"] == json!(self.next) {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.events.push(answer);
        }
    }

    pub(super) fn open(&mut self, page: &Path) {
        self.events.clear();
        self.call("Page.navigate", json!({"url": format!("file://{}", page.display())}));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.read();
            self.events.push(event);
        }
    }

    /// The value of an expression, after what it has set off was done and drawn.
    pub(super) fn value(&mut self, expression: &str) -> Value {
        let settled = format!(
            "(async () => {{ const value = await ({expression}); \
             await new Promise((done) => setTimeout(done, 250)); return value; }})()"
        );
        let params = json!({"expression": settled, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.call("Runtime.evaluate", params);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].take()
    }

    /// Shows the page on a screen of this width, in the dark or not.
    pub(super) fn shown_on(&mut self, width: u32, dark: bool) {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let theme = json!([{"name": "prefers-color-scheme", "value": if dark { "dark" } else { "light" }}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": theme}));
    }

    /// A picture of what is on the screen: PNG.
    pub(super) fn picture(&mut self) -> Vec<u8> {
        let taken = self.call("Page.captureScreenshot", json!({"format": "png"}));
        BASE64_STANDARD.decode(taken["data"].as_str().expect("a picture")).expect("base64")
    }

    fn mouse(&mut self, kind: &str, x: f64, y: f64) {
        let pressed = i32::from(kind != "mouseReleased");
        let params =
            json!({"type": kind, "x": x, "y": y, "button": "left", "buttons": pressed, "clickCount": 1});
        self.call("Input.dispatchMouseEvent", params);
    }

    /// Its complaints: errors of the console, of the policy, and of scripts.
    pub(super) fn complaints(&self) -> Vec<&Value> {
        let is_bad = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Log.entryAdded") => event["params"]["entry"]["level"] == "error",
            Some("Runtime.consoleAPICalled") => event["params"]["type"] == "error",
            _ => false,
        };
        self.events.iter().filter(is_bad).collect()
    }

    /// The addresses that it has asked for beside the page's own.
    pub(super) fn requests(&self, page: &Path) -> Vec<&str> {
        let own = format!("file://{}", page.display());
        let sent = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        let asked = sent.filter_map(|event| event["params"]["request"]["url"].as_str());
        asked.filter(|address| !address.starts_with(&own) && !address.starts_with("data:")).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        let _ = &self.profile;
    }
}

#[test]
fn in_a_browser_the_page_asks_for_nothing_and_charts_zoom_legends_hide_and_filters_filter() {
    let Some(program) = needs::chromium() else { return };
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("report.html");
    let material = material(12);
    std::fs::write(&file, of(&View::of(&material))).expect("writable");
    let mut browser = Browser::start(program);
    browser.open(&file);

    // One page at a time, and the first one first.
    let shown = "[...document.querySelectorAll('section.shown')].map((one) => one.id).join()";
    assert_eq!(browser.value(shown), "overview");
    browser.value("location.hash = '#cases'");
    assert_eq!(browser.value(shown), "cases");

    // A filter leaves the rows that have every word.
    let rows = "[...document.querySelectorAll('#all tbody tr')].filter((row) => !row.hidden).length";
    assert_eq!(browser.value(rows), 12);
    let typed = "(() => { const input = document.querySelector('[data-filter=all]'); \
                 input.value = 'grain cv-3'; input.dispatchEvent(new Event('input')); })()";
    browser.value(typed);
    assert_eq!(browser.value(rows), 1);
    browser.value(&typed.replace("grain cv-3", ""));

    // A head sorts, both ways.
    let first = "document.querySelector('#all tbody tr td').textContent";
    let head = "[...document.querySelectorAll('#all thead th')].find((head) => head.textContent === \
                'figure').querySelector('button').click()";
    browser.value(head);
    assert_eq!(browser.value(first), "CV-0/small/Google Grain", "the slowest first");
    browser.value(head);
    assert_eq!(browser.value(first), "CV-0/small/Reference");

    // A case opens to its charts, which zoom by dragging.
    let slug = material.run.cases[0].id.slug();
    browser.value(&format!("location.hash = '#c-{slug}'"));
    assert_eq!(browser.value(shown), "case");
    assert_eq!(browser.value("document.querySelectorAll('#case canvas').length"), 3);
    let scale = "(() => { const { min, max } = document.querySelector('#case .plot').chart.plot.scales.x; \
                 return max - min; })()";
    let before = browser.value(scale).as_f64().expect("a number");
    let place = browser.value(
        "(() => { const at = document.querySelector('#case .plot .u-over').getBoundingClientRect(); \
         return [at.left, at.top, at.width]; })()",
    );
    let [left, top, width] = [0, 1, 2].map(|at| place[at].as_f64().expect("a number"));
    browser.mouse("mouseMoved", left + width * 0.25, top + 60.0);
    browser.mouse("mousePressed", left + width * 0.25, top + 60.0);
    browser.mouse("mouseMoved", left + width * 0.5, top + 60.0);
    browser.mouse("mouseReleased", left + width * 0.5, top + 60.0);
    let after = browser.value(scale).as_f64().expect("a number");
    assert!(after < before * 0.4 && after > 0.0, "{before} became {after}");

    // A click on a name hides its line.
    let hidden = "document.querySelectorAll('#case .plot .u-legend .u-off').length";
    assert_eq!(browser.value(hidden), 0);
    browser
        .value("document.querySelectorAll('#case .plot .u-legend .u-series')[1].querySelector('th').click()");
    assert_eq!(browser.value(hidden), 1);

    // A key goes back.
    browser.value("dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }))");
    assert_eq!(browser.value(shown), "cases");

    assert!(browser.complaints().is_empty(), "{:#?}", browser.complaints());
    assert!(browser.requests(&file).is_empty(), "{:?}", browser.requests(&file));
}

#[test]
fn in_a_browser_ten_thousand_cases_open_and_are_filtered() {
    let Some(program) = needs::chromium() else { return };
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("report.html");
    let material = material(10_000);
    std::fs::write(&file, of(&View::of(&material))).expect("writable");
    let mut browser = Browser::start(program);
    browser.open(&file);
    // Until everything on it is loaded, and has been drawn once.
    let opened = browser.value(
        "(async () => { await new Promise((done) => requestAnimationFrame(() \
         => requestAnimationFrame(done))); \
         return [performance.getEntriesByType('navigation')[0].loadEventEnd, performance.now()]; })()",
    );
    println!("loaded after {} ms, drawn after {} ms", opened[0], opened[1]);
    browser.value("location.hash = '#cases'");
    let rows = "[...document.querySelectorAll('#all tbody tr')].filter((row) => !row.hidden).length";
    assert_eq!(browser.value(rows), 10_000);
    // The first rows are laid out, and all of them when they are asked for: by a link, the button or a
    // filter.
    let laid_out = |of: &str| {
        format!("[...document.querySelectorAll('#{of} tbody tr')].filter((row) => row.offsetParent).length")
    };
    assert_eq!(browser.value(&laid_out("all")), 500);
    browser.value("document.querySelector('#cases .more').click()");
    assert_eq!(browser.value(&laid_out("all")), 10_000);
    assert_eq!(browser.value("document.querySelectorAll('#cases .more').length"), 0);
    let far = "location.hash = document.querySelector('#best tbody tr:last-child').id";
    browser.value(far);
    assert_eq!(browser.value(&laid_out("best")), 5_000, "a link to a row shows it");
    browser.value("location.hash = '#cases'");
    browser.value(
        "(() => { const input = document.querySelector('[data-filter=all]'); input.value = 'grain cv-4321'; \
         input.dispatchEvent(new Event('input')); })()",
    );
    assert_eq!(browser.value(rows), 1);
    assert!(browser.complaints().is_empty(), "{:#?}", browser.complaints());
}
