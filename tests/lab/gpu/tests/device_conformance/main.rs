//! What this project believes of a CUDA driver, as assertions that the fake and a real device are both held
//! to.
//!
//! ```text
//! # the fake-in
//! cargo test --manifest-path tests/lab/Cargo.toml --test device_conformance
//! # the device of this machine
//! cargo test --manifest-path tests/lab/Cargo.toml --test device_conformance -- --ignored
//! ```
//!
//! The second kind fails where there is no device: whoever asks for it wants to know. The binary needs no
//! cargo, and beside the fake's library (`libfake_gpu.so`) nothing else, so it can be carried to a machine
//! with a device; there `device_conformance --ignored` needs the driver alone. Every disagreement is mended
//! in the fake.

#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "launches and raw driver calls are unsafe by their nature")]

mod errors;
mod graphs;
mod memory;
mod order;
mod telemetry;
mod time;
mod world;

/// Each assertion twice: for the fake, and for the device of this machine.
macro_rules! checks {
    ($($module:ident: $($name:ident)*;)*) => {
        mod on_the_fake {
            $($(
                #[test]
                fn $name() {
                    let name = concat!("on_the_fake::", stringify!($name));
                    crate::$module::$name(&crate::world::World::fake(name));
                }
            )*)*
        }

        mod on_the_device {
            $($(
                #[test]
                #[ignore = "needs an NVIDIA device"]
                fn $name() {
                    let name = concat!("on_the_device::", stringify!($name));
                    crate::$module::$name(&crate::world::World::device(name));
                }
            )*)*
        }
    };
}

checks! {
    time:
        a_launch_returns_before_its_kernel_ends
        a_query_says_not_ready_and_then_ready
        events_tell_the_time_of_a_kernel_within_two_percent
        the_step_of_event_times_is_below_two_microseconds
        an_event_that_keeps_no_time_has_none
        an_event_that_is_not_reached_has_no_time_yet
        an_event_that_was_never_recorded_has_no_time_and_is_complete
        time_between_events_counts_backwards_too
        a_host_timer_without_synchronisation_is_wrong_and_with_it_right
        two_kernels_on_two_streams_take_the_time_of_one
        stamps_on_the_device_agree_with_events;
    order:
        a_held_stream_takes_two_launches_and_runs_them_after_the_release
        a_held_stream_lets_go_after_its_timeout_and_says_so
        waiting_for_one_stream_does_not_wait_for_another
        waiting_for_the_context_waits_for_every_stream
        a_non_blocking_stream_ignores_the_null_stream
        a_blocking_stream_waits_for_the_null_stream
        the_null_stream_waits_for_blocking_streams
        a_wait_for_an_event_orders_two_streams
        a_new_recording_does_not_move_an_earlier_wait
        a_busy_stream_is_destroyed_at_once_and_its_work_is_done
        every_thread_has_a_stream_of_its_own
        a_host_function_runs_between_the_work_around_it;
    memory:
        what_is_copied_there_and_back_is_the_same
        a_pinned_copy_to_the_host_returns_before_it_is_done
        a_copy_to_pageable_memory_is_right_after_a_wait
        pageable_memory_may_be_overwritten_after_a_copy_from_it_returns
        a_kernel_works_on_what_was_copied_before_it
        filling_writes_every_byte_and_every_word
        free_memory_falls_by_what_is_allocated_and_comes_back
        memory_that_cannot_be_had_is_error_2_and_harmless
        freeing_waits_and_freeing_in_a_stream_does_not
        a_pool_remembers_its_high_water_and_gives_back_what_is_trimmed
        pinned_memory_has_one_address;
    errors:
        an_illegal_address_is_told_late_and_for_good
        a_launch_that_cannot_be_is_refused_and_harmless
        what_is_no_ptx_is_refused
        a_kernel_that_is_not_there_is_not_found
        a_thread_without_a_context_is_told_so
        errors_have_the_names_of_the_header;
    graphs:
        a_captured_kernel_runs_when_the_graph_is_launched_and_not_before
        a_graph_takes_the_time_of_its_kernels
        a_capture_that_forks_and_joins_runs_both_branches
        waiting_for_a_capturing_stream_is_error_900_and_loses_the_capture
        a_branch_that_is_not_joined_is_error_904
        the_null_stream_may_not_be_used_under_a_capture
        an_event_of_a_capture_cannot_be_asked;
    telemetry:
        both_libraries_tell_the_same_identity_and_memory
        an_idle_device_says_that_it_is_idle
        power_is_in_milliwatts_and_energy_in_millijoules
        clocks_are_in_megahertz_and_below_their_maximum
        this_process_is_among_those_on_the_device;
}

/// Every check in the files above is listed: one that is not would never run.
#[test]
fn no_check_is_forgotten() {
    let list = include_str!("main.rs");
    for (module, text) in [
        ("time", include_str!("time.rs")),
        ("order", include_str!("order.rs")),
        ("memory", include_str!("memory.rs")),
        ("errors", include_str!("errors.rs")),
        ("graphs", include_str!("graphs.rs")),
        ("telemetry", include_str!("telemetry.rs")),
    ] {
        for name in text.split("\npub fn ").skip(1).map(|rest| rest.split('(').next().unwrap_or_default()) {
            assert!(list.contains(&format!("        {name}")), "{module}::{name} is not in the list");
        }
    }
}
