//! Capture and replay: what is enqueued while a stream captures becomes nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::code::Code;
use crate::stream::Key;
use crate::work::Task;

/// A task and the nodes it waits for.
#[derive(Clone, Debug)]
pub struct Node {
    pub after: Vec<usize>,
    pub task: Task,
}

#[derive(Debug)]
struct Capture {
    origin: Key,
    nodes: Vec<Node>,
    /// The last nodes of every queue that takes part.
    tails: BTreeMap<Key, Vec<usize>>,
    invalid: bool,
    /// Whether other calls of the process are watched (the global mode).
    strict: bool,
}

#[derive(Debug, Default)]
pub struct Graphs {
    captures: BTreeMap<usize, Capture>,
    made: BTreeMap<usize, Arc<[Node]>>,
    next: usize,
}

impl Graphs {
    fn handle(&mut self) -> usize {
        self.next += 16;
        0x40_0000 + self.next
    }

    /// The capture that a queue takes part in.
    pub fn capturing(&self, key: Key) -> Option<usize> {
        self.captures.iter().find(|(_, capture)| capture.tails.contains_key(&key)).map(|(handle, _)| *handle)
    }

    /// Whether any capture watches the whole process.
    pub fn strict(&self) -> bool {
        self.captures.values().any(|capture| capture.strict)
    }

    /// Whether a queue's capture is lost.
    pub fn is_invalid(&self, key: Key) -> bool {
        self.captures.values().any(|capture| capture.invalid && capture.tails.contains_key(&key))
    }

    pub fn begin(&mut self, key: Key, strict: bool) -> Result<(), Code> {
        if self.capturing(key).is_some() {
            return Err(Code(401));
        }
        let handle = self.handle();
        let tails = BTreeMap::from([(key, Vec::new())]);
        let capture = Capture { origin: key, nodes: Vec::new(), tails, invalid: false, strict };
        self.captures.insert(handle, capture);
        Ok(())
    }

    /// A call was made that no capture allows: the capture is lost with it.
    pub fn spoil(&mut self, key: Option<Key>) {
        for capture in self.captures.values_mut() {
            capture.invalid |= key.is_none_or(|key| capture.tails.contains_key(&key));
        }
    }

    /// Adds a task behind what its queue has.
    pub fn add(&mut self, key: Key, task: Task) -> Result<(), Code> {
        let capture = self.captures.values_mut().find(|capture| capture.tails.contains_key(&key));
        let capture = capture.ok_or(Code::INVALID_HANDLE)?;
        if capture.invalid {
            return Err(Code::CAPTURE_INVALIDATED);
        }
        let node = capture.nodes.len();
        let after = capture.tails.insert(key, vec![node]).unwrap_or_default();
        capture.nodes.push(Node { after, task });
        Ok(())
    }

    /// What an event that is recorded in a capturing queue stands for.
    pub fn mark(&self, capture: usize, key: Key) -> Vec<usize> {
        self.captures.get(&capture).and_then(|capture| capture.tails.get(&key)).cloned().unwrap_or_default()
    }

    /// A queue waits for an event of a capture, and takes part from then on.
    pub fn join(&mut self, capture: usize, key: Key, nodes: &[usize]) -> Result<(), Code> {
        if self.capturing(key).is_some_and(|other| other != capture) {
            return Err(Code::CAPTURE_MERGE);
        }
        let capture = self.captures.get_mut(&capture).ok_or(Code::CAPTURED_EVENT)?;
        let tails = capture.tails.entry(key).or_default();
        tails.extend(nodes);
        tails.sort_unstable();
        tails.dedup();
        Ok(())
    }

    pub fn end(&mut self, key: Key) -> Result<usize, Code> {
        let handle = self.capturing(key).ok_or(Code(401))?;
        if self.captures[&handle].origin != key {
            self.spoil(Some(key));
            return Err(Code::CAPTURE_UNMATCHED);
        }
        let capture = self.captures.remove(&handle).ok_or(Code(401))?;
        if capture.invalid {
            return Err(Code::CAPTURE_INVALIDATED);
        }
        let mut reached = vec![false; capture.nodes.len()];
        let mut open = capture.tails.get(&key).cloned().unwrap_or_default();
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut reached[node], true) {
                open.extend(&capture.nodes[node].after);
            }
        }
        if reached.contains(&false) {
            return Err(Code::CAPTURE_UNJOINED);
        }
        let graph = self.handle();
        self.made.insert(graph, capture.nodes.into());
        Ok(graph)
    }

    pub fn instantiate(&mut self, graph: usize) -> Result<usize, Code> {
        let nodes = self.nodes(graph)?;
        let executable = self.handle();
        self.made.insert(executable, nodes);
        Ok(executable)
    }

    pub fn nodes(&self, graph: usize) -> Result<Arc<[Node]>, Code> {
        self.made.get(&graph).cloned().ok_or(Code::INVALID_HANDLE)
    }

    pub fn destroy(&mut self, graph: usize) -> Result<(), Code> {
        self.made.remove(&graph).map(drop).ok_or(Code::INVALID_HANDLE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_wait_for_their_queue_and_for_joined_ones() {
        let mut graphs = Graphs::default();
        graphs.begin(16, true).unwrap();
        graphs.add(16, Task::JOIN).unwrap();
        let capture = graphs.capturing(16).unwrap();
        let fork = graphs.mark(capture, 16);
        graphs.join(capture, 32, &fork).unwrap();
        graphs.add(32, Task::JOIN).unwrap();
        graphs.add(16, Task::JOIN).unwrap();
        let join = graphs.mark(capture, 32);
        graphs.join(capture, 16, &join).unwrap();
        graphs.add(16, Task::JOIN).unwrap();
        let graph = graphs.end(16).unwrap();
        let after: Vec<_> = graphs.nodes(graph).unwrap().iter().map(|node| node.after.clone()).collect();
        assert_eq!(after, [vec![], vec![0], vec![0], vec![1, 2]]);
    }

    #[test]
    fn a_capture_that_lost_a_branch_or_was_spoiled_gives_no_graph() {
        let mut graphs = Graphs::default();
        graphs.begin(16, true).unwrap();
        graphs.add(16, Task::JOIN).unwrap();
        let capture = graphs.capturing(16).unwrap();
        let fork = graphs.mark(capture, 16);
        graphs.join(capture, 32, &fork).unwrap();
        graphs.add(32, Task::JOIN).unwrap();
        assert_eq!(graphs.end(16), Err(Code::CAPTURE_UNJOINED));
        graphs.begin(16, true).unwrap();
        graphs.spoil(Some(16));
        assert_eq!(graphs.add(16, Task::JOIN), Err(Code::CAPTURE_INVALIDATED));
        assert_eq!(graphs.end(16), Err(Code::CAPTURE_INVALIDATED));
        assert_eq!(graphs.end(16), Err(Code(401)));
    }
}
