//! The events that `TensorBoard` reads: scalars, histograms, texts, and the parameters of runs.
//!
//! Numbers of fields are those of `TensorBoard`'s `event.proto`, `summary.proto` and `plugins/hparams`.

use super::proto::Message;
use super::record;

/// Types of tensors.
const F32: u64 = 1;
const F64: u64 = 2;
const STRING: u64 = 7;

/// A file of events of one run.
pub(super) struct Events {
    file: Vec<u8>,
    started: f64,
}

/// A parameter of a run: what it is filtered by.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum EventParameter {
    Number(f64),
    Text(String),
}

impl Events {
    /// A file whose first record says what it is; `started` is in seconds since the Unix epoch.
    pub(super) fn new(started: u64) -> Self {
        let mut events = Self { file: Vec::new(), started: started as f64 };
        let first = Message::default().double(1, events.started).text(3, "brain.Event:2");
        record::add(&mut events.file, &first.into_bytes());
        events
    }

    /// A value of a series. It is single precision: the quick reader of `TensorBoard` drops a double in
    /// silence.
    pub(super) fn scalar(&mut self, tag: &str, about: &str, step: u64, value: f64) {
        let tensor = tensor(F32, &[]).bytes(4, &(value as f32).to_le_bytes());
        self.add(tag, step, metadata("scalars", &[], 1).text(3, about), &tensor);
    }

    /// A histogram: left and right edge of every bin, and how many are in it.
    pub(super) fn histogram(&mut self, tag: &str, about: &str, step: u64, bins: &[[f64; 3]]) {
        let content: Vec<u8> = bins.iter().flatten().flat_map(|number| number.to_le_bytes()).collect();
        let tensor = tensor(F64, &[bins.len() as u64, 3]).bytes(4, &content);
        self.add(tag, step, metadata("histograms", &[], 2).text(3, about), &tensor);
    }

    /// A text in Markdown.
    pub(super) fn text(&mut self, tag: &str, markdown: &str) {
        let tensor = tensor(STRING, &[1]).bytes(8, markdown.as_bytes());
        self.add(tag, 0, metadata("text", &[], 2), &tensor);
    }

    /// Writes the parameters that all runs below this one are told apart by, and the metrics that they are
    /// judged by.
    pub(super) fn experiment(&mut self, about: &str, parameters: &[(String, bool)], metrics: &[String]) {
        let mut experiment = Message::default().text(1, about).double(3, self.started);
        for (name, is_number) in parameters {
            let info = Message::default().text(1, name).int(4, if *is_number { 3 } else { 1 });
            experiment = experiment.message(4, &info);
        }
        for tag in metrics {
            let info = Message::default().message(1, &Message::default().text(2, tag)).text(3, tag);
            experiment = experiment.message(5, &info);
        }
        self.parameters("_hparams_/experiment", &Message::default().message(2, &experiment));
    }

    /// The parameters of this run, and whether it came to a good end.
    pub(super) fn session(&mut self, group: &str, parameters: &[(String, EventParameter)], is_fine: bool) {
        let mut start = Message::default();
        for (name, value) in parameters {
            let value = match value {
                EventParameter::Number(number) => Message::default().double(2, *number),
                EventParameter::Text(text) => Message::default().text(3, text),
            };
            start = start.message(1, &Message::default().text(1, name).message(2, &value));
        }
        let start = start.text(4, group).double(5, self.started);
        self.parameters("_hparams_/session_start_info", &Message::default().message(3, &start));
        let end = Message::default().int(1, if is_fine { 1 } else { 2 }).double(2, self.started);
        self.parameters("_hparams_/session_end_info", &Message::default().message(4, &end));
    }

    fn parameters(&mut self, tag: &str, content: &Message) {
        let content = content.clone().into_bytes();
        let nothing = tensor(F32, &[]).bytes(4, &0.0_f32.to_le_bytes());
        self.add(tag, 0, metadata("hparams", &content, 2), &nothing);
    }

    fn add(&mut self, tag: &str, step: u64, metadata: Message, tensor: &Message) {
        let value = Message::default().text(1, tag).message(8, tensor).message(9, &metadata);
        let summary = Message::default().message(1, &value);
        let event =
            Message::default().double(1, self.started + step as f64).int(2, step).message(5, &summary);
        record::add(&mut self.file, &event.into_bytes());
    }

    /// The file.
    pub(super) fn finish(self) -> Vec<u8> {
        self.file
    }
}

fn metadata(plugin: &str, content: &[u8], class: u64) -> Message {
    let plugin = Message::default().text(1, plugin).bytes(2, content);
    Message::default().message(1, &plugin).int(4, class)
}

fn tensor(kind: u64, shape: &[u64]) -> Message {
    let mut shaped = Message::default();
    for size in shape {
        shaped = shaped.message(2, &Message::default().int(1, *size));
    }
    Message::default().int(1, kind).message(2, &shaped)
}
