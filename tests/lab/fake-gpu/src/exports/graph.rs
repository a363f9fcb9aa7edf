//! Stream capture and graphs.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use super::{Requires, call, cheap, put};
use crate::code::Code;
use crate::fault::Site;
use crate::stream::LEGACY;
use crate::work::Task;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamBeginCapture_v2(stream: *mut c_void, mode: c_uint) -> c_int {
    call(Requires::Context, Site::Graph, cheap, |driver| {
        let key = driver.streams.key(stream as usize)?;
        if key == LEGACY {
            return Err(Code::CAPTURE_UNSUPPORTED);
        }
        // Modes: 0 watches the process, 1 the thread (not told apart here), 2 nobody.
        driver.graphs.begin(key, mode != 2)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamEndCapture(stream: *mut c_void, graph: *mut *mut c_void) -> c_int {
    call(Requires::Context, Site::Graph, cheap, |driver| {
        let key = driver.streams.key(stream as usize)?;
        let ended = driver.graphs.end(key);
        let handle = ended.as_ref().copied().unwrap_or_default();
        // SAFETY: the caller's pointer, null when there is no graph.
        unsafe { put(graph, handle as *mut c_void)? };
        ended.map(drop)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamIsCapturing(stream: *mut c_void, status: *mut c_uint) -> c_int {
    call(Requires::Context, Site::Other, cheap, |driver| {
        let key = driver.streams.key(stream as usize)?;
        if key == LEGACY && driver.graphs.strict() {
            return Err(Code::CAPTURE_IMPLICIT);
        }
        let capturing = driver.graphs.capturing(key).is_some();
        let answer = if driver.graphs.is_invalid(key) { 2 } else { c_uint::from(capturing) };
        // SAFETY: the caller's pointer.
        unsafe { put(status, answer) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphInstantiateWithFlags(
    executable: *mut *mut c_void,
    graph: *mut c_void,
    _flags: c_ulonglong,
) -> c_int {
    call(
        Requires::Context,
        Site::Graph,
        |driver| driver.config.memory_ns,
        |driver| {
            let handle = driver.graphs.instantiate(graph as usize)?;
            // SAFETY: the caller's pointer.
            unsafe { put(executable, handle as *mut c_void) }
        },
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphUpload(executable: *mut c_void, _stream: *mut c_void) -> c_int {
    call(Requires::Context, Site::Graph, cheap, |driver| driver.graphs.nodes(executable as usize).map(drop))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphLaunch(executable: *mut c_void, stream: *mut c_void) -> c_int {
    call(
        Requires::Context,
        Site::Graph,
        |driver| driver.config.graph_ns,
        |driver| {
            let key = driver.streams.key(stream as usize)?;
            super::stream::refuse_capturing(driver, key)?;
            let nodes = driver.graphs.nodes(executable as usize)?;
            driver.wait_for_room(key)?;
            let cost = driver.config.graph_node_ns * nodes.len() as u64;
            driver.clock.spend(cost);
            let before = driver.streams.ahead(key, &driver.work);
            let ready = driver.clock.now() + driver.config.submit_ns;
            let mut ids = Vec::with_capacity(nodes.len());
            for node in nodes.iter() {
                let after = if node.after.is_empty() {
                    before.clone()
                } else {
                    node.after.iter().map(|place| ids[*place]).collect()
                };
                ids.push(driver.work.push(after, ready, node.task.clone()));
            }
            ids.extend(before);
            let all = driver.work.push(ids, ready, Task::JOIN);
            let stream = driver.streams.get_mut(key);
            stream.last = Some(all);
            stream.waiting.push_back(all);
            Ok(())
        },
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphDestroy(graph: *mut c_void) -> c_int {
    call(Requires::Context, Site::Other, cheap, |driver| driver.graphs.destroy(graph as usize))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphExecDestroy(executable: *mut c_void) -> c_int {
    call(Requires::Context, Site::Other, cheap, |driver| driver.graphs.destroy(executable as usize))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphGetNodes(
    graph: *mut c_void,
    _nodes: *mut *mut c_void,
    count: *mut usize,
) -> c_int {
    call(Requires::Context, Site::Other, cheap, |driver| {
        let nodes = driver.graphs.nodes(graph as usize)?;
        // SAFETY: the caller's pointer; only the count is told.
        unsafe { put(count, nodes.len()) }
    })
}
