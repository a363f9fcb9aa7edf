//! What is in memory when, and how it is counted.

use std::time::Duration;

use cudarc::driver::{DevicePtr, sys};

use crate::world::{World, code, is_idle};

const LONG: Duration = Duration::from_millis(5);
const LIMIT: Duration = Duration::from_secs(2);

pub fn what_is_copied_there_and_back_is_the_same(world: &World) {
    let stream = world.stream();
    let data: Vec<u32> = (0..100_000u32).map(|place| place.wrapping_mul(2_654_435_761)).collect();
    let there = stream.clone_htod(&data).unwrap();
    let again = stream.clone_dtod(&there).unwrap();
    let back = stream.clone_dtoh(&again).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(data, back);
}

pub fn a_pinned_copy_to_the_host_returns_before_it_is_done(world: &World) {
    let stream = world.stream();
    let words = world.pinned(1);
    let device = stream.clone_htod(&[42u32]).unwrap();
    stream.synchronize().unwrap();
    let hold = world.hold(&stream, LIMIT);
    let (address, _guard) = device.device_ptr(&stream);
    // SAFETY: four bytes on both sides that live until the wait.
    let result = unsafe { sys::cuMemcpyDtoHAsync_v2(words.host.cast(), address, 4, stream.cu_stream()) };
    assert_eq!(code(result), 0);
    assert_eq!(words.read(0), 0);
    hold.release();
    stream.synchronize().unwrap();
    assert_eq!(words.read(0), 42);
}

pub fn a_copy_to_pageable_memory_is_right_after_a_wait(world: &World) {
    // Drivers may wait in the call or not: the fake is tried with both.
    for waits in [1, 0] {
        if let Some(fake) = &world.fake {
            fake.set("pageable_waits", waits);
        }
        let stream = world.stream();
        let device = stream.clone_htod(&[1u32; 1000]).unwrap();
        let (address, _guard) = device.device_ptr(&stream);
        world.spin(&stream, Duration::from_millis(2));
        world.add_one(&stream, address, 1000);
        let mut back = vec![0u32; 1000];
        stream.memcpy_dtoh(&device, &mut back).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(back, [2; 1000]);
    }
}

pub fn pageable_memory_may_be_overwritten_after_a_copy_from_it_returns(world: &World) {
    let stream = world.stream();
    let mut device = stream.alloc_zeros::<u32>(1000).unwrap();
    world.spin(&stream, Duration::from_millis(2));
    let mut source = vec![5u32; 1000];
    stream.memcpy_htod(&source, &mut device).unwrap();
    source.fill(6);
    let back = stream.clone_dtoh(&device).unwrap();
    stream.synchronize().unwrap();
    assert_eq!((back, source[0]), (vec![5; 1000], 6));
}

pub fn a_kernel_works_on_what_was_copied_before_it(world: &World) {
    let (copies, kernels) = (world.stream(), world.stream());
    let data: Vec<u32> = (0..50_000).collect();
    let device = copies.clone_htod(&data).unwrap();
    kernels.join(&copies).unwrap();
    let (address, _guard) = device.device_ptr(&kernels);
    world.add_one(&kernels, address, data.len() as u32);
    copies.join(&kernels).unwrap();
    let back = copies.clone_dtoh(&device).unwrap();
    copies.synchronize().unwrap();
    assert!(back.iter().zip(&data).all(|(back, data)| *back == data + 1));
}

pub fn filling_writes_every_byte_and_every_word(world: &World) {
    let stream = world.stream();
    let device = stream.alloc_zeros::<u32>(64).unwrap();
    let (address, _guard) = device.device_ptr(&stream);
    // SAFETY: within the 256 bytes.
    unsafe {
        assert_eq!(code(sys::cuMemsetD8Async(address + 4, 0xab, 4, stream.cu_stream())), 0);
        assert_eq!(code(sys::cuMemsetD32Async(address + 8, 0x0102_0304, 2, stream.cu_stream())), 0);
    }
    let back = stream.clone_dtoh(&device).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(back[..5], [0, 0xabab_abab, 0x0102_0304, 0x0102_0304, 0]);
}

pub fn free_memory_falls_by_what_is_allocated_and_comes_back(world: &World) {
    world.ctx.synchronize().unwrap();
    let free = || world.ctx.mem_get_info().unwrap().0;
    let (before, len) = (free(), 64 << 20);
    let mut address = 0;
    // SAFETY: a place for the address, which is freed below.
    unsafe { assert_eq!(code(sys::cuMemAlloc_v2(&raw mut address, len)), 0) };
    let taken = before - free();
    assert!(taken >= len && taken < len + (4 << 20), "{taken} bytes");
    assert_eq!(taken % (64 << 10), 0, "{taken} bytes");
    // SAFETY: allocated above.
    unsafe { assert_eq!(code(sys::cuMemFree_v2(address)), 0) };
    assert_eq!(free(), before);
}

pub fn memory_that_cannot_be_had_is_error_2_and_harmless(world: &World) {
    let total = world.ctx.total_mem().unwrap();
    let mut address = 0;
    // SAFETY: a place for the address.
    assert_eq!(code(unsafe { sys::cuMemAlloc_v2(&raw mut address, total + (1 << 30)) }), 2);
    let stream = world.stream();
    assert!(stream.alloc_zeros::<u8>(1 << 20).is_ok());
    stream.synchronize().unwrap();
}

pub fn freeing_waits_and_freeing_in_a_stream_does_not(world: &World) {
    let stream = world.stream();
    let mut plain = 0;
    // SAFETY: a place for the address, which is freed below.
    unsafe { assert_eq!(code(sys::cuMemAlloc_v2(&raw mut plain, 1 << 20)), 0) };
    // SAFETY: never read.
    let pooled = unsafe { stream.alloc::<u8>(1 << 20) }.unwrap();
    stream.synchronize().unwrap();
    world.spin(&stream, LONG);
    let before = world.now();
    drop(pooled);
    let dropped = world.now() - before;
    assert!(!is_idle(&stream) && dropped < 1_000_000, "{dropped} ns");
    // SAFETY: allocated above.
    unsafe { assert_eq!(code(sys::cuMemFree_v2(plain)), 0) };
    assert!(is_idle(&stream));
}

pub fn a_pool_remembers_its_high_water_and_gives_back_what_is_trimmed(world: &World) {
    use sys::CUmemPool_attribute as Attribute;
    let stream = world.stream();
    let mut pool = std::ptr::null_mut();
    // SAFETY: places for the answers, 64 bits each.
    let read = |pool, attribute| unsafe {
        let mut value = 0u64;
        assert_eq!(code(sys::cuMemPoolGetAttribute(pool, attribute, (&raw mut value).cast())), 0);
        value
    };
    // SAFETY: a place for the handle, and a 0 of 64 bits.
    unsafe {
        assert_eq!(code(sys::cuDeviceGetDefaultMemPool(&raw mut pool, world.ctx.cu_device())), 0);
        let mut zero = 0u64;
        let attribute = Attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH;
        assert_eq!(code(sys::cuMemPoolSetAttribute(pool, attribute, (&raw mut zero).cast())), 0);
    }
    let used = read(pool, Attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
    // SAFETY: never read.
    drop(unsafe { stream.alloc::<u8>(32 << 20) }.unwrap());
    stream.synchronize().unwrap();
    assert_eq!(read(pool, Attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT), used);
    let high = read(pool, Attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH);
    assert!(high >= used + (32 << 20), "{high} bytes");
    // SAFETY: the pool from above.
    assert_eq!(code(unsafe { sys::cuMemPoolTrimTo(pool, 0) }), 0);
    let reserved = read(pool, Attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
    assert!(reserved < used + (32 << 20), "{reserved} bytes");
}

pub fn pinned_memory_has_one_address(world: &World) {
    let words = world.pinned(1);
    let mut device = 0;
    // SAFETY: a place for the address.
    let result = unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut device, words.host.cast(), 0) };
    assert_eq!((code(result), device), (0, words.host as u64));
}
