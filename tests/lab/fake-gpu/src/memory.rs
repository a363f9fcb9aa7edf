//! Memory: what is allocated, how it is counted, and what is in it.

use std::collections::BTreeMap;

use crate::code::Code;

/// What the driver hands out and counts in.
pub const GRANULE: u64 = 2 << 20;
/// Where the device's addresses begin: no host memory lies there, so a host that follows one faults.
const FIRST: u64 = 0xfa_0000_0000;
/// What is in fresh memory: whoever reads before it is written sees nonsense, not zeros.
const GARBAGE: u8 = 0xa5;

/// Content: one byte repeated until somebody writes less than the whole, so that filling a flush buffer costs
/// nothing.
#[derive(Debug)]
enum Body {
    Filled(u8),
    /// Words, since kernels' types need their alignment.
    Words(Vec<u128>),
}

#[derive(Debug)]
struct Block {
    len: u64,
    body: Body,
    /// The pool that it is from.
    pool: Option<usize>,
}

/// A pool of stream-ordered memory.
#[derive(Debug, Default)]
pub struct Pool {
    pub used: u64,
    pub used_high: u64,
    pub reserved: u64,
    pub reserved_high: u64,
    /// What it keeps over a wait; more goes back to the device.
    pub threshold: u64,
}

#[derive(Debug)]
pub struct Memory {
    total: u64,
    blocks: BTreeMap<u64, Block>,
    next: u64,
    /// Held by plain allocations, in granules.
    plain: u64,
    pub pools: BTreeMap<usize, Pool>,
    next_pool: usize,
    /// Pinned host memory that the driver owns, by address.
    pinned: BTreeMap<u64, Vec<u128>>,
    /// Host memory that callers registered, by address.
    registered: BTreeMap<u64, u64>,
}

/// The default pool of the device.
pub const POOL: usize = 0x60_0000;

impl Memory {
    pub fn new(total: u64) -> Self {
        Self {
            total,
            blocks: BTreeMap::new(),
            next: FIRST,
            plain: 0,
            pools: BTreeMap::from([(POOL, Pool::default())]),
            next_pool: POOL + 16,
            pinned: BTreeMap::new(),
            registered: BTreeMap::new(),
        }
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn free_bytes(&self) -> u64 {
        self.total - self.plain - self.pools.values().map(|pool| pool.reserved).sum::<u64>()
    }

    pub fn allocate(&mut self, len: u64) -> Result<u64, Code> {
        if len == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let held = len.next_multiple_of(GRANULE);
        if held > self.free_bytes() {
            return Err(Code::OUT_OF_MEMORY);
        }
        self.plain += held;
        Ok(self.block(len, None))
    }

    pub fn allocate_from(&mut self, len: u64, pool: usize) -> Result<u64, Code> {
        if len == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let free = self.free_bytes();
        let found = self.pools.get_mut(&pool).ok_or(Code::INVALID_VALUE)?;
        let used = found.used + len.next_multiple_of(512);
        let wanted = used.next_multiple_of(GRANULE).max(found.reserved);
        if wanted - found.reserved > free {
            return Err(Code::OUT_OF_MEMORY);
        }
        (found.used, found.reserved) = (used, wanted);
        found.used_high = found.used_high.max(used);
        found.reserved_high = found.reserved_high.max(wanted);
        Ok(self.block(len, Some(pool)))
    }

    /// Addresses are never given twice: a use after the end is seen.
    fn block(&mut self, len: u64, pool: Option<usize>) -> u64 {
        let address = self.next;
        self.next += len.next_multiple_of(GRANULE) + GRANULE;
        self.blocks.insert(address, Block { len, body: Body::Filled(GARBAGE), pool });
        address
    }

    pub fn owns(&self, address: u64) -> bool {
        self.blocks.contains_key(&address)
    }

    pub fn release(&mut self, address: u64) -> Result<(), Code> {
        let block = self.blocks.remove(&address).ok_or(Code::INVALID_VALUE)?;
        match block.pool {
            Some(pool) => {
                if let Some(pool) = self.pools.get_mut(&pool) {
                    pool.used -= block.len.next_multiple_of(512);
                }
            }
            None => self.plain -= block.len.next_multiple_of(GRANULE),
        }
        Ok(())
    }

    /// A wait gives back what pools hold above their threshold.
    pub fn waited(&mut self) {
        for pool in self.pools.values_mut() {
            pool.reserved = pool.reserved.min(pool.used.next_multiple_of(GRANULE).max(pool.threshold));
        }
    }

    pub fn trim(&mut self, pool: usize, keep: u64) -> Result<(), Code> {
        let pool = self.pools.get_mut(&pool).ok_or(Code::INVALID_VALUE)?;
        pool.reserved = pool.reserved.min(pool.used.max(keep).next_multiple_of(GRANULE));
        Ok(())
    }

    pub fn create_pool(&mut self) -> usize {
        let pool = self.next_pool;
        self.next_pool += 16;
        self.pools.insert(pool, Pool::default());
        pool
    }

    pub fn pin(&mut self, len: u64) -> Result<u64, Code> {
        if len == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let words = vec![0u128; len.div_ceil(16) as usize];
        let address = words.as_ptr() as u64;
        self.pinned.insert(address, words);
        Ok(address)
    }

    pub fn unpin(&mut self, address: u64) -> Result<(), Code> {
        self.pinned.remove(&address).map(drop).ok_or(Code::INVALID_VALUE)
    }

    pub fn register(&mut self, address: u64, len: u64) -> Result<(), Code> {
        if self.is_pinned(address) {
            return Err(Code::ALREADY_REGISTERED);
        }
        self.registered.insert(address, len);
        Ok(())
    }

    pub fn unregister(&mut self, address: u64) -> Result<(), Code> {
        self.registered.remove(&address).map(drop).ok_or(Code::NOT_REGISTERED)
    }

    /// Whether host memory at this address is page-locked.
    pub fn is_pinned(&self, address: u64) -> bool {
        let owned = self.pinned.range(..=address).next_back();
        let lent = self.registered.range(..=address).next_back();
        owned.is_some_and(|(start, words)| address < start + words.len() as u64 * 16)
            || lent.is_some_and(|(start, len)| address < start + len)
    }

    /// Whether an address is the device's, alive or not.
    pub fn is_device(&self, address: u64) -> bool {
        (FIRST..self.next).contains(&address)
    }

    /// The block that holds a range.
    fn find(&mut self, address: u64, len: u64) -> Option<(u64, &mut Block)> {
        let (start, block) = self.blocks.range_mut(..=address).next_back()?;
        (address + len <= start + block.len).then_some((address - start, block))
    }

    /// Where the bytes of a range lie in host memory; host addresses are their own place. `None`: no such
    /// memory.
    pub fn place(&mut self, address: u64, len: u64) -> Option<*mut u8> {
        if !self.is_device(address) {
            return (address != 0).then_some(address as *mut u8);
        }
        let (offset, block) = self.find(address, len)?;
        if let Body::Filled(byte) = block.body {
            let words = block.len.div_ceil(16) as usize;
            block.body = Body::Words(vec![u128::from_ne_bytes([byte; 16]); words]);
        }
        let Body::Words(words) = &mut block.body else { unreachable!("made a line above") };
        Some(words.as_mut_ptr().cast::<u8>().wrapping_add(offset as usize))
    }

    /// As `place`, for kernels: they reach the device's memory and pinned memory, and nothing else.
    pub fn reach(&mut self, address: u64, len: u64) -> Option<*mut u8> {
        let within =
            self.is_device(address) || (self.is_pinned(address) && self.is_pinned(address + len.max(1) - 1));
        if within { self.place(address, len) } else { None }
    }

    /// Fills a range with one byte; `false` when it is no whole block, which the caller then writes byte by
    /// byte.
    pub fn fill_whole(&mut self, address: u64, len: u64, byte: u8) -> bool {
        match self.find(address, len) {
            Some((0, block)) if block.len == len => {
                block.body = Body::Filled(byte);
                true
            }
            _ => false,
        }
    }

    /// Copies a whole block over another of its size when the source is one repeated byte.
    pub fn copy_whole(&mut self, to: u64, from: u64, len: u64) -> bool {
        let byte = match self.find(from, len) {
            Some((0, Block { len: whole, body: Body::Filled(byte), .. })) if *whole == len => *byte,
            _ => return false,
        };
        self.fill_whole(to, len, byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_memory_is_counted_in_granules_and_runs_out() {
        let mut memory = Memory::new(10 * GRANULE);
        let first = memory.allocate(1).unwrap();
        assert_eq!(memory.free_bytes(), 9 * GRANULE);
        assert_eq!(memory.allocate(10 * GRANULE), Err(Code::OUT_OF_MEMORY));
        memory.release(first).unwrap();
        assert_eq!(memory.release(first), Err(Code::INVALID_VALUE));
        assert_eq!(memory.free_bytes(), 10 * GRANULE);
    }

    #[test]
    fn a_pool_keeps_what_was_freed_until_a_wait_or_a_trim_and_remembers_its_high_water() {
        let mut memory = Memory::new(10 * GRANULE);
        let block = memory.allocate_from(3 * GRANULE, POOL).unwrap();
        memory.pools.get_mut(&POOL).unwrap().threshold = 4 * GRANULE;
        memory.release(block).unwrap();
        memory.waited();
        assert_eq!(memory.free_bytes(), 7 * GRANULE);
        memory.trim(POOL, 0).unwrap();
        assert_eq!(memory.free_bytes(), 10 * GRANULE);
        assert_eq!((memory.pools[&POOL].used, memory.pools[&POOL].used_high), (0, 3 * GRANULE));
    }

    #[test]
    fn a_range_is_found_inside_its_block_and_nowhere_else() {
        let mut memory = Memory::new(10 * GRANULE);
        let block = memory.allocate(64).unwrap();
        assert!(memory.place(block, 64).is_some() && memory.place(block + 32, 32).is_some());
        assert!(memory.place(block + 32, 33).is_none());
        memory.release(block).unwrap();
        assert!(memory.place(block, 1).is_none());
    }

    #[test]
    fn filling_a_whole_block_touches_no_memory() {
        let mut memory = Memory::new(1 << 40);
        let (a, b) = (memory.allocate(1 << 38).unwrap(), memory.allocate(1 << 38).unwrap());
        assert!(memory.fill_whole(a, 1 << 38, 7) && memory.copy_whole(b, a, 1 << 38));
        assert!(!memory.fill_whole(a, 1 << 37, 7));
    }

    #[test]
    fn pinned_memory_is_known_by_every_address_in_it() {
        let mut memory = Memory::new(GRANULE);
        let pinned = memory.pin(100).unwrap();
        assert!(memory.is_pinned(pinned + 99) && !memory.is_device(pinned));
        assert_eq!(memory.register(pinned, 10), Err(Code::ALREADY_REGISTERED));
        memory.unpin(pinned).unwrap();
        assert!(!memory.is_pinned(pinned));
    }
}
