"""A check for ReFrame: measures with Weighbridge, and hands ReFrame the median of each case.

    reframe -c reframe.py -r -S Weigh.workspace=/path/of/mine -S Weigh.ranks=4
"""

import glob
import json
import os
import shlex

import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class Weigh(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]

    program = variable(str, value="cargo bench --")
    """What measures. Ranks are started by the launcher of the partition."""
    line = variable(str, value="--quick")
    workspace = variable(str, value=".")
    ranks = variable(int, value=1)

    @run_before("run")
    def start(self):
        first, *rest = shlex.split(self.program)
        self.num_tasks = self.ranks
        self.executable = first
        self.executable_opts = [*rest, *shlex.split(self.line), "--data", shlex.quote(self.data)]
        self.prerun_cmds = [f"cd {shlex.quote(os.path.abspath(self.workspace))}"]

    @property
    def data(self):
        return os.path.join(self.stagedir, "weighbridge")

    @sanity_function
    def all_is_measured(self):
        return sn.assert_found(r"^weighbridge: run=\S+ .* failed=0 .* exit=[05]$", self.stdout)

    @run_before("performance")
    def hand_over_medians(self):
        for file in glob.glob(os.path.join(self.data, "runs", "*", "cases", "*.json")):
            with open(file, encoding="utf-8") as text:
                case = json.load(text)["record"]
            for metric in case["metrics"]:
                if metric["name"] == case["primary"] and metric["estimate"]:
                    name = os.path.splitext(os.path.basename(file))[0]
                    median = sn.defer(metric["estimate"]["median"])
                    self.perf_variables[name] = sn.make_performance_function(median, metric["unit"])
