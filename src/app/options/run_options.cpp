#include "app/options/choices.hpp"
#include "app/options/options.hpp"
#include "app/options/values.hpp"

namespace trireme::app {
namespace {

Option make_batch_option(config::RunOptions& run) {
    Option option =
        make_integer_option({"batch", "B",
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

// Returns true if the run directory may hold more than one checkpoint.
bool saves_several_times(const config::RunConfig& config) {
    return config.run.checkpoint_every > 0 || config.run.resume != "off" ||
           (config.policy.move == config::MoveMethod::restart && may_move_state(config.policy));
}

Option make_keep_option(config::RunConfig& config) {
    return make_conditional(
        make_integer_option({"keep", "N", "number of newest checkpoints to keep; 0: all"}, config.run.keep),
        [&config] { return saves_several_times(config); }, {"several checkpoints", "--checkpoint-every K"});
}

Option make_save_error_option(config::RunOptions& run) {
    return make_conditional(
        make_choice_option(
            {"on-save-error", "", "what to do if a checkpoint other than the last one cannot be written"},
            run.on_save_error,
            {{"stop", config::OnSaveError::stop, "end the run"},
             {"go-on", config::OnSaveError::continue_run, "report the failure and continue"}}),
        [&run] { return run.checkpoint_every > 0; },
        {"checkpoints before the last one", "--checkpoint-every K"});
}

}  // namespace

OptionGroup make_run_options(config::RunConfig& config) {
    config::RunOptions& run = config.run;
    return {
        "run",
        {
            make_integer_option({"steps", "", "number of optimizer steps; 0: --epochs decides"}, run.steps),
            make_batch_option(run),
            make_integer_option({"seed", "S", "random seed of weights, sample order and dropout"}, run.seed),
            make_text_option({"run-dir", "DIR", "folder of records and checkpoints; if unset, runs/MODEL-TIME"},
                             run.run_dir),
            make_integer_option({"eval-every", "K", "steps between validations; 0: only after the last step"},
                                run.eval_every),
            make_integer_option(
                {"checkpoint-every", "K", "steps between checkpoints; 0: only after the last step"},
                run.checkpoint_every),
            make_keep_option(config),
            make_text_option({"resume",
                              "off|auto|PATH",
                              "where to start",
                              {{"off", "at the first step; a run directory with earlier steps is refused"},
                               {"auto", "at the newest checkpoint of --run-dir, if there is one"},
                               {"PATH", "at a checkpoint, or at the newest one of a run directory"}}},
                             run.resume),
            make_save_error_option(run),
            make_integer_option({"log-every", "K", "steps between progress lines"}, run.log_every, 1),
            make_number_option({"stall-timeout", "SECONDS",
                                "seconds that a rank waits for another one before the job is ended"},
                               run.stall_timeout, make_range_above(0)),
            make_duration_option(
                {"time-limit", "3h50m",
                 "run time within which the run stops with a checkpoint; 0s: only the limit of the Slurm job "
                 "applies"},
                run.time_limit),
            make_choice_option(
                {"on-nan", "",
                 "what to do if the loss or the gradient norm is not finite; the kernel that caused it is "
                 "reported"},
                run.on_nan,
                {{"stop", config::OnNan::stop, "end with exit code 2"},
                 {"skip", config::OnNan::skip,
                  "skip the update; end with exit code 2 at the 20th skip in a row"}}),
            make_integer_option(
                {"gpu-clock", "MHZ",
                 "clock at which the GPUs are held during the run, where the driver permits it; 0: "
                 "unchanged"},
                run.gpu_clock),
            make_trace_option(run.trace),
            make_conditional(
                make_on_off_option({"trace-kernels", "", "also record every CPU kernel in trace.json"},
                                   run.trace.shows_kernels),
                [&run] { return run.trace.last > 0; }, {"a trace", "--trace FIRST:LAST"}),
            make_switch_option({"dry-run", "", "check everything, print the plan, and exit"}, run.dry_run),
            make_switch_option({"quiet", "", "print no progress lines"}, run.quiet),
            make_switch_option(
                {"verbose", "", "also print each step's seconds in kernels and in waits, and each checkpoint"},
                run.verbose),
            make_integer_option(
                {"threads", "", "threads per rank; 0: the cores of a node divided by its ranks"}, run.threads),
        }};
}

}  // namespace trireme::app
