#include "app/options/choices.hpp"
#include "app/options/options.hpp"
#include "app/options/values.hpp"

namespace trireme::app {
namespace {

Option batch_option(config::RunOptions& run) {
    Option option = whole_number({"batch", "B",
                                  "samples per step over all replicas (global batch size); if unset, 8, or one "
                                  "per micro-batch if that is more"},
                                 run.batch, 1);
    option.set = [&run, set = option.set](const Setting& setting) {
        set(setting);
        run.is_batch_set = true;
    };
    option.get = [&run, get = option.get] { return run.is_batch_set ? get() : std::string(); };
    return option;
}

// True unless the run saves only one checkpoint, at its end.
bool saves_several_times(const config::RunConfig& config) {
    return config.run.checkpoint_every > 0 || config.run.resume != "off" ||
           (config.policy.move == config::MoveWay::restart && may_change_layout(config.policy));
}

Option keep_option(config::RunConfig& config) {
    return needing(whole_number({"keep", "N", "number of newest checkpoints to keep; 0: all"}, config.run.keep),
                   [&config] { return saves_several_times(config); },
                   {"several checkpoints", "--checkpoint-every K"});
}

Option on_save_error_option(config::RunOptions& run) {
    return needing(
        choice({"on-save-error", "", "what to do if a checkpoint cannot be written; the last one must be"},
               run.on_save_error,
               {{"stop", config::OnSaveError::stop, "end the run"},
                {"go-on", config::OnSaveError::go_on, "report it and continue"}}),
        [&run] { return run.checkpoint_every > 0; },
        {"checkpoints before the last one", "--checkpoint-every K"});
}

}  // namespace

OptionGroup run_options(config::RunConfig& config) {
    config::RunOptions& run = config.run;
    return {
        "run",
        {
            whole_number({"steps", "", "number of optimizer steps; 0: --epochs decides"}, run.steps),
            batch_option(run),
            whole_number({"seed", "S", "random seed of weights, sample order and dropout"}, run.seed),
            text({"run-dir", "DIR", "folder of records and checkpoints; if unset, runs/MODEL-TIME"},
                 run.run_dir),
            whole_number({"eval-every", "K", "steps between validations; 0: only after the last step"},
                         run.eval_every),
            whole_number({"checkpoint-every", "K", "steps between checkpoints; 0: only after the last step"},
                         run.checkpoint_every),
            keep_option(config),
            text({"resume",
                  "off|auto|PATH",
                  "where to start",
                  {{"off", "at the first step; a run directory that holds steps is refused"},
                   {"auto", "at the newest checkpoint of --run-dir, if there is one"},
                   {"PATH", "at a checkpoint, or at the newest one of a run directory"}}},
                 run.resume),
            on_save_error_option(run),
            whole_number({"log-every", "K", "steps between progress lines"}, run.log_every, 1),
            number({"stall-timeout", "SECONDS",
                    "seconds that a rank waits for another one before the job is ended"},
                   run.stall_timeout, above(0)),
            duration(
                {"time-limit", "3h50m",
                 "run time within which the run stops with a checkpoint; 0s: no limit but that of the Slurm "
                 "job"},
                run.time_limit),
            choice(
                {"on-nan", "",
                 "what to do if the loss or the gradient norm is not finite; the kernel that caused it is "
                 "reported"},
                run.on_nan,
                {{"stop", config::OnNan::stop, "end with exit code 2"},
                 {"skip", config::OnNan::skip, "skip the update; end with exit code 2 at the 20th in a row"}}),
            whole_number({"gpu-clock", "MHZ",
                          "clock at which the GPUs are held during the run, where the driver permits it; 0: "
                          "unchanged"},
                         run.gpu_clock),
            trace_option(run.trace),
            needing(on_off({"trace-kernels", "", "also record every CPU kernel in trace.json"},
                           run.trace.shows_kernels),
                    [&run] { return run.trace.last > 0; }, {"a trace", "--trace FIRST:LAST"}),
            flag({"dry-run", "", "check everything, print the plan, and exit"}, run.dry_run),
            flag({"quiet", "", "print no progress lines"}, run.quiet),
            flag({"verbose", "",
                  "also print seconds in kernels and in waits for each step, and each checkpoint"},
                 run.verbose),
            whole_number({"threads", "", "threads per rank; 0: the cores of a node divided by its ranks"},
                         run.threads),
        }};
}

}  // namespace trireme::app
