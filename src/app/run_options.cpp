#include "app/run_options.hpp"

#include "app/trace_option.hpp"
#include "app/values.hpp"

namespace trireme::app {
namespace {

Option batch_option(RunOptions& run) {
    Option option = whole_number({"batch", "B",
                                  "samples in a step, over all replicas; if not given 8, or one for each "
                                  "micro-batch where that is more"},
                                 run.batch, 1);
    option.set = [&run, set = option.set](const Setting& setting) {
        set(setting);
        run.is_batch_set = true;
    };
    option.get = [&run, get = option.get] { return run.is_batch_set ? get() : std::string(); };
    return option;
}

// Another run than one that saves once, at its end.
bool saves_several_times(const RunConfig& config) {
    return config.run.checkpoint_every > 0 || config.run.resume != "off" ||
           (config.policy.move == MoveWay::restart && may_change_layout(config.policy));
}

Option keep_option(RunConfig& config) {
    return needing(whole_number({"keep", "N", "checkpoints, the newest; 0: all"}, config.run.keep),
                   [&config] { return saves_several_times(config); },
                   {"several checkpoints", "--checkpoint-every K"});
}

Option on_save_error_option(RunOptions& run) {
    return needing(choice({"on-save-error", "",
                           "a checkpoint that cannot be written, unless it is the last: end, or go on"},
                          run.on_save_error, {{"stop", OnSaveError::stop}, {"go-on", OnSaveError::go_on}}),
                   [&run] { return run.checkpoint_every > 0; },
                   {"checkpoints before the last one", "--checkpoint-every K"});
}

}  // namespace

OptionGroup run_options(RunConfig& config) {
    RunOptions& run = config.run;
    return {
        "run",
        {
            whole_number({"steps", "", "updates of the parameters; 0: --epochs decides"}, run.steps),
            batch_option(run),
            whole_number({"seed", "S", "of the weights, the order of the rows and dropout"}, run.seed),
            text({"run-dir", "DIR", "where the records go, created anew; runs/MODEL-TIME if not given"},
                 run.run_dir),
            whole_number({"eval-every", "K", "steps between evaluations; 0: at the end only"}, run.eval_every),
            whole_number({"checkpoint-every", "K", "steps between checkpoints; 0: at the end only"},
                         run.checkpoint_every),
            keep_option(config),
            text({"resume", "off|auto|PATH",
                  "go on from the newest checkpoint of --run-dir, if there is one, or from a checkpoint or a "
                  "run "
                  "directory; off refuses a run directory that holds steps"},
                 run.resume),
            on_save_error_option(run),
            whole_number({"log-every", "K", "steps between lines of progress"}, run.log_every, 1),
            number({"stall-timeout", "SECONDS", "without progress, after which the job gives up"},
                   run.stall_timeout, above(0)),
            duration({"time-limit", "3h50m",
                      "from the start, before which the run stops with a checkpoint; 0s: none, and Slurm's own "
                      "always"},
                     run.time_limit),
            choice({"on-nan", "",
                    "a loss or gradient norm that is not finite: stop with exit code 2, or skip the update, at "
                    "most 19 times in a row; both repeat the first such step with checks and name the rank, "
                    "layer, micro-batch and kernel of the first value that is not finite"},
                   run.on_nan, {{"stop", OnNan::stop}, {"skip", OnNan::skip}}),
            whole_number({"gpu-clock", "MHZ",
                          "at which GPUs are held while the run lasts, where that is allowed; 0: as they are"},
                         run.gpu_clock),
            trace_option(run.trace),
            needing(on_off({"trace-kernels", "", "trace.json also shows every kernel, except those of GPUs"},
                           run.trace.shows_kernels),
                    [&run] { return run.trace.last > 0; }, {"a trace", "--trace FIRST:LAST"}),
            flag({"dry-run", "", "check everything, say what would be done, and end"}, run.dry_run),
            flag({"quiet", "", "no lines of progress"}, run.quiet),
            flag({"verbose", "", "more lines of progress"}, run.verbose),
            whole_number({"threads", "", "of one rank; 0: the node's cores divided among its ranks"},
                         run.threads),
        }};
}

}  // namespace trireme::app
