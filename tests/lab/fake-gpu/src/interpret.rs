//! Runs a kernel as it is written, many threads in step.

#![expect(unsafe_code, reason = "threads read and write the device's memory by address")]

use crate::memory::Memory;
use crate::program::{Action, Program, Source};
use crate::ptx::Launch;

/// Threads that go through the steps together.
const LANES: usize = 256;

/// Runs all threads of a launch; `false` when one of them touched memory that is not there.
pub fn run(program: &Program, launch: &Launch, memory: &mut Memory) -> bool {
    let per_block = u64::from(launch.block[0]) * u64::from(launch.block[1]) * u64::from(launch.block[2]);
    let blocks: u64 = launch.grid.iter().map(|extent| u64::from(*extent)).product();
    let threads = blocks * per_block;
    let mut lanes =
        Lanes { registers: vec![[0; LANES]; program.registers], resume: [0; LANES], first: 0, count: 0 };
    let mut first = 0;
    while first < threads {
        lanes.first = first;
        lanes.count = (threads - first).min(LANES as u64) as usize;
        lanes.resume = [0; LANES];
        if !lanes.run(program, launch, per_block, blocks, memory) {
            return false;
        }
        first += LANES as u64;
    }
    true
}

struct Lanes {
    registers: Vec<[u64; LANES]>,
    /// The step that each goes on with: a branch forwards is a sleep.
    resume: [usize; LANES],
    first: u64,
    count: usize,
}

/// Memory that was found by the last access of a step: the next one is mostly beside it.
#[derive(Clone, Copy)]
struct Near {
    start: u64,
    end: u64,
    place: *mut u8,
}

impl Near {
    const NONE: Self = Self { start: 0, end: 0, place: std::ptr::null_mut() };

    fn find(&mut self, memory: &mut Memory, address: u64, size: usize) -> Option<*mut u8> {
        if address < self.start || address + size as u64 > self.end {
            let (start, end) = memory.around(address, size as u64)?;
            *self = Self { start, end, place: memory.reach(start, end - start)? };
        }
        Some(self.place.wrapping_add((address - self.start) as usize))
    }
}

impl Lanes {
    fn run(
        &mut self,
        program: &Program,
        launch: &Launch,
        per_block: u64,
        blocks: u64,
        memory: &mut Memory,
    ) -> bool {
        for (place, step) in program.steps.iter().enumerate() {
            let mut near = Near::NONE;
            for lane in 0..self.count {
                let guarded =
                    step.guard.is_some_and(|(guard, wanted)| (self.registers[guard][lane] != 0) != wanted);
                if self.resume[lane] > place || guarded {
                    continue;
                }
                let read = |lanes: &Self, source: Source| match source {
                    Source::Register(register) => lanes.registers[register][lane],
                    Source::Constant(value) => value,
                    Source::Thread => (lanes.first + lane as u64) % per_block,
                    Source::Block => (lanes.first + lane as u64) / per_block,
                    Source::Threads => per_block,
                    Source::Blocks => blocks,
                };
                match step.action {
                    Action::Apply { function, to, from } => {
                        let operands = from.map(|source| read(self, source));
                        self.registers[to][lane] = function(operands);
                    }
                    Action::Parameter { to, place, size } => {
                        let value = launch.number(place);
                        self.registers[to][lane] =
                            if size == 8 { value } else { value & ((1 << (8 * size)) - 1) };
                    }
                    Action::Load { to, address, offset, size, signed } => {
                        let address = read(self, address).wrapping_add(offset);
                        let Some(from) = near.find(memory, address, size) else { return false };
                        let mut bytes = [0; 8];
                        // SAFETY: `size` bytes, at most 8, were found there.
                        unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), size) };
                        let value = u64::from_le_bytes(bytes);
                        let unused = 64 - 8 * size as u32;
                        let extended = if signed {
                            ((value << unused).cast_signed() >> unused).cast_unsigned()
                        } else {
                            value
                        };
                        self.registers[to][lane] = extended;
                    }
                    Action::Store { address, offset, size, from } => {
                        let address_of = read(self, address).wrapping_add(offset);
                        let bytes = read(self, from).to_le_bytes();
                        let Some(to) = near.find(memory, address_of, size) else { return false };
                        // SAFETY: as above.
                        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, size) };
                    }
                    Action::Add { address, offset, from } => {
                        let address_of = read(self, address).wrapping_add(offset);
                        let more = read(self, from) as u32;
                        let Some(to) = near.find(memory, address_of, 4) else { return false };
                        let mut bytes = [0; 4];
                        // SAFETY: as above; threads take their turns here, so that nobody else adds
                        // meanwhile.
                        unsafe {
                            std::ptr::copy_nonoverlapping(to, bytes.as_mut_ptr(), 4);
                            let sum = u32::from_le_bytes(bytes).wrapping_add(more).to_le_bytes();
                            std::ptr::copy_nonoverlapping(sum.as_ptr(), to, 4);
                        }
                    }
                    Action::Jump(target) => self.resume[lane] = target,
                    Action::End => self.resume[lane] = usize::MAX,
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::ptx::{Kernel, parse};

    /// Doubles the even ones of `n` signed bytes into floats.
    const TEXT: &str = "// fake widen run
.version 7.0
.target sm_70
.address_size 64
.visible .entry widen(.param .u64 from, .param .u64 to, .param .u32 n)
{
    .reg .pred %p<3>;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4; // the thread
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra END;
    cvt.u64.u32 %rd3, %r5;
    add.u64 %rd3, %rd3, %rd1;
    ld.global.s8 %r6, [%rd3];
    cvt.rn.f32.s32 %f1, %r6;
    and.b32 %r7, %r5, 1;
    setp.eq.u32 %p2, %r7, 0;
    @%p2 mul.rn.f32 %f1, %f1, 0f40000000;
    mad.wide.u32 %rd4, %r5, 4, %rd2;
    st.global.f32 [%rd4], %f1;
END:
    ret;
}
";

    fn launch(kernel: &Kernel, args: [u64; 2], n: u32) -> Launch {
        let wide = args.map(|arg| arg.to_le_bytes().to_vec());
        Launch {
            kernel: kernel.clone(),
            grid: [3, 1, 1],
            block: [128, 1, 1],
            args: wide.into_iter().chain([n.to_le_bytes().to_vec()]).collect(),
            fault: None,
        }
    }

    #[test]
    fn threads_load_compute_choose_and_store() {
        let kernel = parse(TEXT, 90, 90).unwrap()["widen"].clone();
        let program: Arc<Program> = kernel.program.clone().unwrap();
        let mut memory = Memory::new(1 << 30);
        let (from, to) = (memory.allocate(300).unwrap(), memory.allocate(1200).unwrap());
        let source = memory.reach(from, 300).unwrap();
        for place in 0..300 {
            // SAFETY: within the 300 bytes.
            unsafe { source.add(place).write((place as i32 - 150) as i8 as u8) };
        }
        assert!(run(&program, &launch(&kernel, [from, to], 300), &mut memory));
        let target = memory.reach(to, 1200).unwrap();
        for place in 0..300 {
            // SAFETY: within the 1200 bytes.
            let found = unsafe { target.add(4 * place).cast::<f32>().read_unaligned() };
            let byte = f32::from((place as i32 - 150) as i8);
            let expected = if place % 2 == 0 { byte * 2.0 } else { byte };
            assert_eq!(found.to_bits(), expected.to_bits(), "{place}");
        }
        // One element more than there is.
        assert!(!run(&program, &launch(&kernel, [from, to], 301), &mut memory));
    }
}
