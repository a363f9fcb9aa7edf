//! Suites of Orbax, written here and as the installed package ships them.

use std::fs;
use std::path::{Path, PathBuf};

use weighbridge_python as python;

use weighbridge::data::Exit;
use weighbridge::suite::SuiteFile;

use super::orbax::plan;
use super::*;

fn planned(text: &str, lenient: bool, over: &Overrides) -> Result<OrbaxPlan, String> {
    let root = suite::nodes("a.yaml", text).map_err(|mistake| mistake.to_string())?;
    plan(&root, lenient, over).map_err(|mistake| mistake.to_string())
}

/// A benchmark with these options, after these keys.
fn pytree(keys: &str, options: &str) -> String {
    format!(
        "suite_name: x\n{keys}\nbenchmarks:\n  - generator: orbax.a.PyTreeCheckpointBenchmark\n    options: \
         {options}\n"
    )
}

const STATE: &str =
    "checkpoint_config: {spec: {a: {dtype: float32, shape: [32, 16], sharding: [data, null]}}}\n";

#[test]
fn every_list_of_options_inputs_and_meshes_is_an_axis_and_each_point_is_planned_skipped_refused_or_dropped() {
    let keys = format!(
        "num_repeats: 5\n{STATE}mesh_configs:\n  - {{mesh_axes: [data, model], ici_parallelism: {{data: 2}}, \
         dcn_parallelism: {{data: 2, model: 2}}}}\n  - {{mesh_axes: [data], ici_parallelism: {{data: 256}}}}"
    );
    let options = "{use_zarr3: [True, False], use_replica_parallel: [False, True], use_ocdbt: True,\n      \
                   enable_replica_parallel_separate_folder: [False, True], save_concurrent_gb: [null, 2]}";
    let plan = planned(&pytree(&keys, options), false, &Overrides::default()).expect("a suite");
    // 16 combinations: with 4 of them a separate folder makes no sense, the others run on each mesh that
    // fits.
    let told = plan.to_string();
    assert!(told.starts_with("`x`: 12 points planned, 0 refused, 12 skipped, 4 dropped\n"), "{told}");
    assert!(told.contains("skipped 12: the mesh data=256 needs 256 devices"), "{told}");
    let refused =
        planned(&pytree(&keys, "{use_colocated_python: [True, False]}"), false, &Overrides::default());
    let refused = refused.expect("a suite").to_string();
    assert!(refused.contains("refused 2: there is not yet, or not here: a backend of Pathways"), "{refused}");
    let suite = plan.suite.expect("some of it runs");
    assert_eq!((suite.repeats, suite.benchmarks.len()), (Some(5), 12));
    let options: Vec<String> = suite.benchmarks[1]
        .options
        .iter()
        .map(|(key, values)| {
            let values: Vec<&str> = values.iter().map(|value| &*value.text).collect();
            format!("{}={}", key.name, values.join("|"))
        })
        .collect();
    assert_eq!(
        options,
        [
            "variant=a:float32[32x16]{data,-}",
            "mesh=data=4+model=2",
            "operation=save|load",
            "saving=background",
            "use_ocdbt=true",
            "use_zarr3=true",
            "use_compression=true",
            "use_replica_parallel=false",
            "enable_replica_parallel_separate_folder=false",
            "save_concurrent_gb=2",
        ]
    );
}

#[test]
fn a_state_of_ones_own_stands_in_for_a_checkpoint_that_is_not_at_hand() {
    let text = pytree("checkpoint_config: {path: 'gs://bucket/llama'}", "{}");
    let refused = planned(&text, false, &Overrides::default()).expect("a suite");
    assert!(refused.suite.is_none() && refused.points == 0, "{refused}");
    assert!(
        refused.to_string().contains("a checkpoint on Google Cloud Storage: gs://bucket/llama"),
        "{refused}"
    );
    let over = Overrides {
        input: Some("tiny".parse().expect("a variant")),
        beside: vec!["torch.save".into()],
        ..Overrides::default()
    };
    let suite = planned(&text, false, &over).expect("a suite").suite.expect("it runs");
    let adapters: Vec<&str> = suite.benchmarks[0].adapters.iter().map(|adapter| &*adapter.text).collect();
    assert_eq!(adapters, ["Orbax", "torch.save"]);
}

/// Writes cuts of a tensor `a` of four by two over two devices.
fn cuts_of_a(path: &Path) -> PathBuf {
    let json = r#"{"a": {"shape": [4, 2], "dtype": "float32", "sharding":
        {"mesh": {"shape": [2, 1], "axes": ["data", "model"]}, "spec": [["data", "model"], null]}}}"#;
    fs::write(path, json).expect("written");
    path.to_owned()
}

#[test]
fn leaves_that_are_no_arrays_are_part_of_the_state() {
    let text =
        pytree("checkpoint_config: {spec: {a: {dtype: float32, shape: [4]}, step: int, name: str}}", "{}");
    let suite = planned(&text, false, &Overrides::default()).expect("a suite").suite.expect("it runs");
    assert!(axes(&suite).starts_with("variant=a:float32[4];step:int;name:str mesh=none"), "{}", axes(&suite));
}

#[test]
fn a_state_that_lies_here_is_saved_and_lies_as_the_file_of_its_cuts_says() {
    let place = tempfile::tempdir().expect("a folder");
    let file = place.path().join("model.safetensors");
    let header = br#"{"a":{"dtype":"F32","shape":[4,2],"data_offsets":[0,32]}}"#;
    let bytes = [&(header.len() as u64).to_le_bytes()[..], &header[..], &[7; 32]].concat();
    fs::write(&file, bytes).expect("written");
    let cuts = cuts_of_a(&place.path().join("cuts.json"));
    let (at, cuts) = (file.display(), cuts.display());
    let of = |config: &str| {
        let text = pytree(&format!("checkpoint_config: {{{config}}}"), "{}");
        planned(&text, false, &Overrides::default()).expect("a suite")
    };
    let suite = of(&format!("path: '{at}', sharding_config_path: '{cuts}'")).suite.expect("it runs");
    let told = axes(&suite);
    assert!(told.starts_with(&format!("variant=path:{at} cuts={cuts} mesh=data=2 operation=save")), "{told}");
    for (config, missing) in [
        ("path: /no/where".to_owned(), "a state at /no/where: "),
        (format!("path: '{at}', sharding_config_path: 'gs://b/s'"), "cuts on Google Cloud Storage: gs://b/s"),
        (format!("path: '{at}', sharding_config_path: /no/where"), "the cuts in /no/where"),
        (format!("path: '{}'", place.path().join("cuts.json").display()), "is no safetensors"),
    ] {
        let refused = of(&config);
        assert!(refused.points == 0 && refused.to_string().contains(missing), "{refused}");
    }
}

#[test]
fn a_load_onto_another_mesh_is_planned_from_the_mesh_that_is_said() {
    let text = |options: &str| {
        format!(
            "suite_name: x\nmesh_config: {{mesh_axes: [data, fsdp], ici_parallelism: {{fsdp: 4}}}}\n\
             benchmarks:\n  - {{generator: a.ReshardingBenchmark, options: {options}}}\n"
        )
    };
    let whole =
        text("{use_zarr3: True, reference_checkpoint_path: 'gs://b/c', reference_sharding_path: 'gs://b/s'}");
    let refused = planned(&whole, false, &Overrides::default()).expect("a suite").to_string();
    assert!(
        refused.contains(
            "refused 1: there is not yet, or not here: a checkpoint on Google Cloud Storage: gs://b/c"
        ),
        "{refused}"
    );
    let over = |from: &str| Overrides {
        input: Some("tiny".parse().expect("a variant")),
        saved_from: Some(from.parse().expect("a mesh")),
        ..Overrides::default()
    };
    let suite = planned(&whole, false, &over("data=8+fsdp=2")).expect("a suite").suite.expect("it runs");
    let [benchmark] = &suite.benchmarks[..] else { panic!("one point: {suite:?}") };
    let options: Vec<String> =
        benchmark.options.iter().map(|(key, values)| format!("{}={}", key.name, values[0].text)).collect();
    let axes = ["mesh=data=8+fsdp=2", "onto=data=1+fsdp=4", "use_ocdbt=true", "use_zarr3=true"];
    assert_eq!(benchmark.scenario.text, "CKPT-2");
    assert_eq!(options[1..5], axes);
    let skipped = planned(&whole, false, &over("data=128")).expect("a suite").to_string();
    assert!(skipped.contains("skipped 1: the mesh data=128 needs 128 devices"), "{skipped}");
    let dropped =
        planned(&text("{reference_checkpoint_path: 'gs://b/c'}"), false, &over("none")).expect("a suite");
    assert_eq!((dropped.points, dropped.dropped), (0, 1), "without the path of a sharding");
}

#[test]
fn a_training_with_a_manager_is_planned_with_the_options_of_its_generator() {
    let planned = |generator: &str, options: &str| {
        let mesh = "mesh_config: {mesh_axes: [data], ici_parallelism: {data: 2}}\n";
        let text = format!(
            "suite_name: x\n{STATE}{mesh}benchmarks:\n  - {{generator: a.{generator}, options: {options}}}\n"
        );
        planned(&text, false, &Overrides::default()).expect("a suite")
    };
    let axes = |plan: OrbaxPlan| {
        let suite = plan.suite.expect("it runs");
        let [benchmark] = &suite.benchmarks[..] else { panic!("one point: {suite:?}") };
        assert_eq!(benchmark.scenario.text, "CKPT-5");
        let values = |values: &Vec<weighbridge::suite::WrittenText>| {
            values.iter().map(|value| value.text.clone()).collect::<Vec<_>>().join("|")
        };
        let axes = benchmark.options.iter();
        axes.map(|(key, of)| format!("{}={}", key.name, values(of))).skip(1).collect::<Vec<_>>().join(" ")
    };
    let kept = "save_interval_steps=1 max_to_keep=1";
    let threads = "num_deletion_threads=1";
    assert_eq!(
        axes(planned("CheckpointManagerBenchmark", "{save_interval_steps: [3], train_steps: [5]}")),
        format!(
            "mesh=data=2 operation=save|restore save_interval_steps=3 max_to_keep=1 train_steps=5 {threads}"
        )
    );
    assert_eq!(
        axes(planned("CheckpointManagerPerfBenchmark", "{use_zarr3: true}")),
        format!("mesh=data=2 operation=save|restore {kept} train_steps=20 {threads}"),
        "it saves every step and keeps one"
    );
    assert_eq!(
        axes(planned("DeleterBenchmark", "{max_to_keep: 10, train_steps: 2, num_deletion_threads: 4}")),
        "mesh=data=2 operation=save|delete save_interval_steps=1 max_to_keep=10 train_steps=2 \
         num_deletion_threads=4"
    );
    let swept = planned("DeleterBenchmark", "{max_to_keep: 10, num_deletion_threads: [1, 2, 4, 0]}");
    assert_eq!(swept.points, 3);
    let none = "refused 1: there is not yet, or not here: a value of `num_deletion_threads` that is no whole \
                number above 0";
    assert!(swept.to_string().contains(none), "{swept}");
    let traced = planned("CheckpointManagerBenchmark", "{enable_trace: [true, false]}");
    assert_eq!(traced.points, 2, "{traced}");
    assert!(
        traced.to_string().contains("left out of 1: a trace of a profiler, for `enable_trace`"),
        "{traced}"
    );
    let cancelled = planned(
        "V0CheckpointerCancelBenchmark",
        "{cancel_delay_secs: 0.5, perform_cancellation: [true, false]}",
    );
    let benchmarks = cancelled.suite.expect("it runs").benchmarks;
    let of = |at: usize| {
        let benchmark: &weighbridge::suite::SuiteBenchmark = &benchmarks[at];
        let (key, values) = benchmark.options.last().expect("options");
        format!("{} {}={}", benchmark.scenario.text, key.name, values[0].text)
    };
    assert_eq!([of(0), of(1)], ["CKPT-6 cancel_delay_secs=0.5", "CKPT-1 saving=background"]);
    let late = planned("V1CheckpointerCancelBenchmark", "{cancel_delay_secs: 600}");
    assert!(late.to_string().contains("refused 1"), "{late}");
}

#[test]
fn a_save_of_replicas_and_the_layer_of_arrays_are_planned_and_what_no_handler_takes_is_dropped() {
    let axes = |plan: OrbaxPlan, scenario: &str| -> Vec<String> {
        let axes = |benchmark: &weighbridge::suite::SuiteBenchmark| {
            assert_eq!(benchmark.scenario.text, scenario);
            let axes = benchmark.options.iter().skip(1);
            axes.map(|(key, values)| format!("{}={}", key.name, values[0].text)).collect::<Vec<_>>().join(" ")
        };
        plan.suite.expect("it runs").benchmarks.iter().map(axes).collect()
    };
    let text = |generator: &str, mesh: &str, options: &str| {
        format!(
            "suite_name: x\n{STATE}mesh_config: {mesh}\n\
             benchmarks:\n  - {{generator: a.{generator}, options: {options}}}\n"
        )
    };
    let read = |text: &str, input: Option<&str>| {
        let input = input.map(|input| input.parse().expect("a state"));
        planned(text, false, &Overrides { input, ..Overrides::default() }).expect("a suite")
    };
    let replicas =
        "{mesh_axes: [replica, model], ici_parallelism: {model: 2}, dcn_parallelism: {replica: 4}}";
    let options = "{use_replica_parallel: [true, false], enable_replica_parallel_separate_folder: [true, \
                     false], use_load_and_broadcast: true, reference_checkpoint_path: 'gs://b/c', \
                     reference_sharding_path: 'gs://b/d'}";
    let plan = read(&text("ReplicaParallelMultislice", replicas, options), Some("a:float32[32x16]"));
    assert_eq!((plan.points, plan.dropped), (3, 1), "a folder apart has what is shared");
    let files = "use_ocdbt=true use_zarr3=true use_compression=true";
    let of = |writers: &str| format!("replicas=4 model=2 saving=background {files} writers={writers}");
    assert_eq!(axes(plan, "CKPT-4"), [of("shared_apart"), of("shared"), of("first")]);
    let elsewhere = read(&text("ReplicaParallelMultislice", replicas, options), None).to_string();
    assert!(elsewhere.contains("a checkpoint on Google Cloud Storage"), "{elsewhere}");
    let line = read(
        &text("ReplicaParallelMultislice", "{mesh_axes: [data], ici_parallelism: {data: 2}}", options),
        Some("a:float32[32x16]"),
    );
    assert!(line.to_string().contains("a mesh of the axes replica and model"), "{line}");

    let data = "{mesh_axes: [data, fsdp], ici_parallelism: {data: 2, fsdp: 2}}";
    let arrays = read(
        &text("ArrayHandlerBenchmark", data, "{use_zarr3: true, use_metadata_store: [true, false]}"),
        None,
    );
    let options = "saving=background use_ocdbt=true use_zarr3=true use_replica_parallel=false \
                   enable_replica_parallel_separate_folder=false";
    let of = |layer: &str| format!("mesh=data=2+fsdp=2 operation=save {options} layer={layer}");
    assert_eq!(axes(arrays, "CKPT-8"), [of("arrays_with_metadata"), of("arrays")]);
}

#[test]
fn policies_of_a_manager_of_orbax_become_axes_and_what_they_cannot_keep_is_refused() {
    let text = |options: &str| {
        let mesh = "mesh_config: {mesh_axes: [data], ici_parallelism: {data: 2}}\n";
        format!(
            "suite_name: x\n{STATE}{mesh}benchmarks:\n  - {{generator: a.CheckpointPolicyBenchmark, \
             options: {options}}}\n"
        )
    };
    let of = |policies: &str| {
        text(&format!("{{num_checkpoints: 100, checkpoint_policies_options: [{policies}]}}"))
    };
    let read = |text: &str| planned(text, false, &Overrides::default());
    let newest = "{preservation_policies: [{policy_type: LatestN, n: 5}, \
                   {policy_type: CustomSteps, custom_steps: [11, 22]}], \
                   save_decision_policies: [{policy_type: FixedIntervalPolicy, interval_steps: 10}], \
                   expected_preserve_checkpoints: [50, 90]}";
    let timed = "{preservation_policies: [{policy_type: EveryNSeconds, interval_secs: 3}], \
                  save_decision_policies: [{policy_type: ContinuousCheckpointingPolicy}, \
                  {policy_type: InitialSavePolicy}]}";
    let plan = read(&of(&format!("{newest}, {timed}"))).expect("a suite");
    let axes = |benchmark: &weighbridge::suite::SuiteBenchmark| {
        assert_eq!(benchmark.scenario.text, "CKPT-5");
        let axes = benchmark.options.iter().skip(2);
        axes.map(|(key, values)| format!("{}={}", key.name, values[0].text)).collect::<Vec<_>>().join(" ")
    };
    let axes: Vec<String> = plan.suite.expect("it runs").benchmarks.iter().map(axes).collect();
    let [first, second] = [
        "operation=save train_steps=100 save_decision_policy=interval=10 preservation_policy=latest=5 or \
         steps=11+22",
        "operation=save train_steps=100 save_decision_policy=continuous=0 or initial \
         preservation_policy=seconds=3",
    ];
    assert_eq!(axes, [first, second]);
    let lost = read(&of(&newest.replace("[50, 90]", "[40, 90]"))).expect("a suite").to_string();
    assert!(lost.contains("checkpoints that the policies do not keep: [40]"), "{lost}");
    for (wrong, said) in [
        (newest.replace("n: 5", "m: 5"), "unknown key `m`"),
        (newest.replace("LatestN", "LatestM"), "`policy_type` is LatestN, EveryNSteps"),
        (
            newest.replace("interval_steps: 10", "interval_steps: 0"),
            "`interval_steps` is a whole number of at least 1",
        ),
        (newest.replace("[11, 22]", "[-1]"), "`custom_steps` is a whole number of at least 0"),
    ] {
        let mistake = read(&of(&wrong)).expect_err(&wrong);
        assert!(mistake.contains(said), "{mistake}");
    }
    let long = read(&of(newest).replace("100", "100000")).expect("a suite").to_string();
    assert!(long.contains("a training of over 10000 steps"), "{long}");
}

#[test]
fn a_load_of_a_checkpoint_of_orbax_is_planned_with_a_state_that_stands_in_and_digests_elsewhere_are_refused()
{
    let load = |options: &str| {
        let over = Overrides { input: Some("tiny".parse().expect("a variant")), ..Overrides::default() };
        let text = format!(
            "suite_name: x\nmesh_config: {{mesh_axes: [fsdp], ici_parallelism: {{fsdp: 4}}}}\nbenchmarks:\n  \
             - {{generator: a.OrbaxLoadBenchmark, options: {options}}}\n"
        );
        planned(&text, false, &over).expect("a suite")
    };
    let loaded = load("{checkpoint_path: 'gs://b/c', restore_concurrent_gb: 3, enable_trace: true}");
    assert!(loaded.to_string().contains("left out of 1: a trace of a profiler"), "{loaded}");
    let suite = loaded.suite.expect("it runs");
    assert_eq!(suite.benchmarks[0].scenario.text, "CKPT-7");
    assert_eq!(axes(&suite), "variant=tiny onto=fsdp=4 format=own cut=replicated restore_concurrent_gb=3");
    let digests = load("{checkpoint_path: 'gs://b/c', reference_digests_path: 'gs://b/d'}").to_string();
    assert!(digests.contains("`reference_digests_path` has those of another checkpoint"), "{digests}");
    assert_eq!(load("{}").dropped, 1, "there is nothing to load");
}

/// The axes of the only benchmark of a suite.
fn axes(suite: &SuiteFile) -> String {
    let [benchmark] = &suite.benchmarks[..] else { panic!("one benchmark: {suite:?}") };
    let axes = benchmark.options.iter().map(|(key, values)| format!("{}={}", key.name, values[0].text));
    axes.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_load_is_planned_where_the_checkpoint_lies_here_and_refused_with_what_does_not() {
    let place = tempfile::tempdir().expect("a folder");
    let [here, digests] = ["here", "digests"].map(|name| place.path().join(name));
    for directory in [&here, &digests] {
        fs::create_dir(directory).expect("made");
    }
    let load = |options: &str| {
        let text = format!(
            "suite_name: x\nmesh_config: {{mesh_axes: [tp], ici_parallelism: {{tp: 2}}}}\nbenchmarks:\n  \
             - {{generator: a.SafetensorLoadBenchmark, options: {{{options}}}}}\n"
        );
        planned(&text, false, &Overrides::default()).expect("a suite")
    };
    let (at, known) = (here.display(), digests.display());
    let plain = format!("checkpoint_path: '{at}'");
    let planned =
        load(&format!("{plain}, safetensors_read_chunk_mb: 256, safetensors_max_over_read_ratio: 1.5"));
    assert_eq!(
        axes(&planned.suite.expect("it runs")),
        format!(
            "variant=path:{at} onto=tp=2 format=safetensors cut=replicated safetensors_read_chunk_mb=256 \
             safetensors_max_over_read_ratio=1.5"
        )
    );
    for (option, word) in [("reference_digests_path", "check"), ("capture_digests_path", "capture")] {
        let planned = load(&format!("{plain}, {option}: '{known}'"));
        let of = axes(&planned.suite.expect("it runs"));
        assert!(of.starts_with(&format!("variant=path:{at} {word}={known} onto=tp=2")), "{of}");
    }
    let cuts = cuts_of_a(&place.path().join("cuts.json"));
    let planned = load(&format!("{plain}, sharding_config_path: '{}'", cuts.display()));
    let of = axes(&planned.suite.expect("it runs"));
    let due = format!("variant=path:{at} cuts={} onto=data=2 format=safetensors", cuts.display());
    assert_eq!(of, due, "the mesh is that of the cuts, and nothing is whole on each device");
    for (options, missing) in [
        ("checkpoint_path: 'gs://b/c'".to_owned(), "a checkpoint on Google Cloud Storage: gs://b/c"),
        ("checkpoint_path: '/no/where'".to_owned(), "a checkpoint at /no/where: nothing is there"),
        (format!("{plain}, reference_digests_path: 's3://b/d'"), "digests on an object store: s3://b/d"),
        (format!("{plain}, reference_digests_path: '/no/where'"), "digests at /no/where"),
        (format!("{plain}, sharding_config_path: 'gs://b/s'"), "cuts on Google Cloud Storage: gs://b/s"),
        (format!("{plain}, sharding_config_path: '/no/where'"), "the cuts in /no/where"),
        (format!("{plain}, use_load_and_broadcast: true"), "a broadcast over a mesh"),
    ] {
        let refused = load(&options);
        let told = refused.to_string();
        assert!(refused.points == 0 && told.contains(missing), "{told}");
        assert_eq!(told.matches("refused 1:").count(), 1, "one thing is missing: {told}");
    }
}

#[test]
fn a_broadcast_to_replicas_is_planned_on_the_mesh_that_its_generator_asks_for() {
    let broadcast = |mesh: &str, options: &str| {
        let over = Overrides { input: Some("tiny".parse().expect("a variant")), ..Overrides::default() };
        let paths = "reference_checkpoint_path: 'gs://b/c', reference_sharding_path: 'gs://b/s'";
        let text = format!(
            "suite_name: x\nmesh_config: {mesh}\nbenchmarks:\n  \
             - {{generator: a.RestoreAndBroadcastBenchmark, options: {{{paths}{options}}}}}\n"
        );
        planned(&text, false, &over).expect("a suite")
    };
    let mesh = "{mesh_axes: [replica, model], ici_parallelism: {model: 4}, dcn_parallelism: {replica: 2}}";
    for (options, sharing) in [("", "broadcast"), (", use_load_and_broadcast: false", "each")] {
        let planned = broadcast(mesh, options);
        let suite = planned.suite.expect("it runs");
        assert_eq!(suite.benchmarks[0].scenario.text, "CKPT-3");
        assert_eq!(axes(&suite), format!("variant=tiny replicas=2 model=4 sharing={sharing}"));
    }
    let large = broadcast("{mesh_axes: [replica, model], ici_parallelism: {replica: 2, model: 64}}", "");
    assert!(
        large.to_string().contains("skipped 1: the mesh replica=2+model=64 needs 128 devices"),
        "{large}"
    );
    let other = broadcast("{mesh_axes: [data], ici_parallelism: {data: 2}}", "");
    assert!(other.to_string().contains("a mesh of the axes replica and model"), "{other}");
}

#[test]
fn what_is_wrong_in_a_suite_of_orbax_is_told_with_its_place() {
    let load = |options: &str| {
        format!("suite_name: x\nbenchmarks:\n  - generator: a.OrbaxLoadBenchmark\n    options: {options}\n")
    };
    for (text, told) in [
        (
            pytree("num_repeat: 3", "{}"),
            "line 2, column 1: unknown key `num_repeat` in a suite of Orbax; did you mean `num_repeats`?",
        ),
        (
            pytree("", "{use_zar3: True}"),
            "line 5, column 15: unknown key `use_zar3` in the options of PyTreeCheckpointBenchmark; did you \
             mean `use_zarr3`?",
        ),
        (pytree("", "{use_zarr3: []}"), "line 5, column 26: `use_zarr3` has no values"),
        (
            pytree("checkpoint_config: {path: p, spec: {}}", "{}"),
            "line 2, column 36: `path` and `spec` exclude each other in a checkpoint_config",
        ),
        (
            pytree("checkpoint_config: {spec: {}, sharding_config_path: p}", "{}"),
            "line 2, column 53: `sharding_config_path` needs a `path`",
        ),
        (
            pytree("mesh_config: {mesh_axes: [data], ici_parallelism: {dat: 2}}", "{}"),
            "line 2, column 52: unknown key `dat` in ici_parallelism; did you mean `data`?",
        ),
        (
            pytree("mesh_config: {mesh_axes: [a]}\nmesh_configs: [{mesh_axes: [a]}]", "{}"),
            "line 3, column 15: `mesh_config` and `mesh_configs` say the same",
        ),
        (
            load("{capture_digests_path: a, reference_digests_path: b}"),
            "line 4, column 64: `capture_digests_path` and `reference_digests_path` exclude each other in \
             the options of",
        ),
        (
            "suite_name: x\nbenchmarks:\n  - {generator: a.PytreeCheckpointBenchmark, options: {}}\n"
                .to_owned(),
            "line 3, column 17: `PytreeCheckpointBenchmark` is no generator of Orbax's benchmarks; did you \
             mean",
        ),
        ("suite_name: x\n".to_owned(), "line 1, column 1: a suite of Orbax lacks the key `benchmarks`"),
        (
            "suite_name: x\nbenchmarks:\n  - generator: a.Benchmark\n".to_owned(),
            "line 3, column 5: a benchmark lacks the key `options`",
        ),
    ] {
        let mistake = planned(&text, false, &Overrides::default()).expect_err(&text);
        assert!(mistake.starts_with(told), "{text}\n{mistake}");
    }
    let lenient = planned(&pytree("reuse_checkpoint: false", "{}"), true, &Overrides::default())
        .expect("as Orbax reads it");
    assert!(
        lenient.to_string().contains("ignored: line 2, column 1: unknown key `reuse_checkpoint`"),
        "{lenient}"
    );
}

#[test]
fn a_resource_of_a_cluster_is_no_suite() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cpc.yaml");
    fs::write(&file, "apiVersion: checkpointing.gke.io/v1\nkind: CheckpointConfiguration\n")
        .expect("written");
    let said = check(&[file], &ReadingFlags::default());
    assert_eq!(said.exit, Exit::Usage);
    assert!(said.remarks[0].contains("cpc.yaml: it is no suite of Orbax's benchmarks"), "{:?}", said.remarks);
}

/// The suite files of the installed Orbax.
fn shipped() -> Option<Vec<PathBuf>> {
    let peer = python::find("orbax").expect("Orbax is a peer");
    let home = needs::orbax(python::home().map(|home| peer.folder(&home)))?;
    let lib = home.join("venv/lib");
    let python = fs::read_dir(lib).expect("an environment").flatten().next().expect("a Python").path();
    let mut found = Vec::new();
    walk(&python.join("site-packages/orbax/checkpoint/_src/testing/benchmarks"), &mut found);
    found.sort();
    Some(found)
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of Orbax").flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            found.push(path);
        }
    }
}

#[test]
fn every_suite_file_that_orbax_ships_is_planned_or_refused_with_what_is_missing() {
    let Some(files) = shipped() else { return };
    let mut wrong = Vec::new();
    for (input, at_least) in [(None, 4), (Some("default"), 37)] {
        let how = ReadingFlags { input: input.map(str::to_owned), ..ReadingFlags::default() };
        let (mut planned, mut refused, mut lenient, mut no_suite) = (0, 0, 0, 0);
        for file in &files {
            let strict = understand(file, &how);
            if file.ends_with("xpk/cpc.yaml") {
                assert!(strict.is_err(), "a resource of a cluster is no suite");
                no_suite += 1;
                continue;
            }
            // Some have keys that Orbax itself never reads.
            let read = strict.or_else(|mistake| {
                assert!(mistake.to_string().contains("unknown key"), "{mistake}");
                lenient += 1;
                understand(file, &ReadingFlags { lenient: true, ..how.clone() })
            });
            match read {
                Ok(plan) if plan.points > 0 => planned += 1,
                // What is refused says why, point by point.
                Ok(plan) if !plan.refused.is_empty() || !plan.skipped.is_empty() => {
                    refused += 1;
                }
                other => wrong.push(format!("{}: {other:?}", file.display())),
            }
        }
        println!(
            "suites of Orbax, input {}: {planned} planned, {refused} refused, \
             {} wrong; {lenient} of them read leniently; {no_suite} no suite",
            input.unwrap_or("as written"),
            wrong.len()
        );
        assert_eq!(planned + refused + no_suite, files.len(), "{wrong:#?}");
        assert!(planned >= at_least, "fewer suites are planned than before: {planned}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
