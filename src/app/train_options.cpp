#include "app/train_options.hpp"

#include <algorithm>

#include "app/cost_option.hpp"
#include "app/policy_options.hpp"
#include "app/profile_option.hpp"
#include "app/simulate_options.hpp"
#include "app/slow_option.hpp"
#include "app/trace_option.hpp"
#include "app/values.hpp"
#include "trireme/base/error.hpp"

namespace trireme::app {
namespace {

OptionGroup data_options(DataConfig& data) {
    return {"data",
            {
                text({"corpus", "FILE.h5", "rows, made by `trireme prepare`"}, data.corpus),
                whole_number({"max-length", "", "tokens a sample may have; 0: the model's positions"},
                             data.max_length),
                choice({"long", "", "rows longer than that: cut into pieces, cut off, left out, or an error"},
                       data.long_rows,
                       {{"split", LongRows::split},
                        {"truncate", LongRows::truncate},
                        {"drop", LongRows::drop},
                        {"refuse", LongRows::refuse}}),
                number({"validation-share", "", "part of the rows kept for evaluation, below 1"},
                       data.validation_share, from_until(0, 1)),
                number({"epochs", "", "passes over the training rows; 0: --steps decides"}, data.epochs,
                       at_least(0)),
            }};
}

Option document_end_option(DataConfig& data) {
    return choice({"document-end", "", "what follows each row: the end token, predicted too, or nothing"},
                  data.document_end, {{"eos", true}, {"none", false}});
}

OptionGroup task_options(TaskConfig& task) {
    return {
        "task",
        {
            choice({"task", "",
                    "what is learned: the next token, hidden tokens, where answers lie, or classes; what model "
                    "and corpus have in common if not given"},
                   task.task,
                   {{"language", Task::language},
                    {"masked", Task::masked},
                    {"span", Task::span},
                    {"classify", Task::classify}}),
            number({"mask-share", "", "of the tokens that a masked model must guess, below 1"}, task.mask_share,
                   between(0, 1)),
            number({"label-smoothing", "", "of classes, in training, below 1"}, task.label_smoothing,
                   from_until(0, 1)),
        }};
}

OptionGroup model_options(ModelChoice& model, DataConfig& data) {
    return {
        "model",
        {
            text(
                {"model", "NAME",
                 "a known name (gpt2-tiny, llama-160m, bert-base, vit-tiny, ...; an unknown one lists them) or "
                 "Hugging Face's config.json; the model of --init, or gpt2-tiny, if not given"},
                model.name),
            text({"init", "random|PATH",
                  "first values: random, or those of a checkpoint, a run directory, or a folder or file of "
                  "Hugging Face's"},
                 model.init),
            on_off({"tied", "", "the head shares the token table; the model's choice if not given"},
                   model.tied),
            number({"dropout", "", "probability, below 1; the model's if not given"}, model.dropout,
                   from_until(0, 1)),
            document_end_option(data),
            whole_number({"layers", "", "blocks, in place of the model's"}, model.layers, 1),
            whole_number({"width", "", "channels, in place of the model's"}, model.width, 1),
            whole_number({"heads", "", "attention heads, in place of the model's"}, model.heads, 1),
            whole_number({"groups", "", "of heads that share keys and values, in place of the model's"},
                         model.groups, 1),
            whole_number({"mlp-width", "", "channels inside the MLP, in place of the model's"}, model.mlp_width,
                         1),
            whole_number({"positions", "", "tokens that the model can see, in place of the model's"},
                         model.positions, 1),
            whole_number({"vocabulary", "", "tokens known, in place of the model's; 0: the corpus's"},
                         model.vocabulary),
            whole_number({"labels", "", "classes, in place of the model's; 0: the corpus's"}, model.labels),
            whole_number({"channels", "", "of an image, in place of the model's"}, model.channels, 1),
            whole_number({"image-size", "", "pixels along an edge, in place of the model's"}, model.image_size,
                         1),
            whole_number({"patch", "", "pixels along the edge of a patch, in place of the model's"},
                         model.patch, 1),
        }};
}

OptionGroup optimizer_options(OptimizerConfig& optimizer) {
    return {"optimizer",
            {
                choice({"optimizer", "", "how parameters are updated"}, optimizer.kind,
                       {{"adamw", OptimizerKind::adamw}, {"sgd", OptimizerKind::sgd}}),
                number({"lr", "", "the highest learning rate"}, optimizer.rate, above(0)),
                number({"min-lr", "", "the learning rate at the end"}, optimizer.min_rate, at_least(0)),
                choice({"lr-schedule", "", "how the rate falls from one to the other"}, optimizer.schedule,
                       {{"constant", RateSchedule::constant},
                        {"linear", RateSchedule::linear},
                        {"cosine", RateSchedule::cosine},
                        {"wsd", RateSchedule::wsd}}),
                whole_number({"warmup-steps", "", "steps over which the rate rises"}, optimizer.warmup_steps),
                number({"weight-decay", "", "of matrices; biases and gains never decay"},
                       optimizer.weight_decay, at_least(0)),
                number({"beta1", "", "of adamw, below 1"}, optimizer.beta1, from_until(0, 1)),
                number({"beta2", "", "of adamw, below 1"}, optimizer.beta2, from_until(0, 1)),
                number({"epsilon", "", "of adamw"}, optimizer.epsilon, above(0)),
                number({"momentum", "", "of sgd, below 1"}, optimizer.momentum, from_until(0, 1)),
                number({"clip", "", "the longest gradient, by its norm; 0: never cut"}, optimizer.clip,
                       at_least(0)),
            }};
}

OptionGroup layout_options(LayoutConfig& layout) {
    return {
        "layout",
        {
            whole_number({"pipe", "P", "ranks in a row that have other layers each"}, layout.pipe, 1),
            whole_number({"data", "D", "replicas of the model; 0: as many as the ranks allow"}, layout.data),
            whole_number({"tensor", "T", "ranks that share the tensors of a replica"}, layout.tensor, 1),
            text({"layout", "FILE.json", "who holds what, in place of a grid of pipe x data x tensor ranks"},
                 layout.layout),
            text({"partition", "KIND|4,3,3,4",
                  "how layers are cut into stages: uniform, parameters, type; measured or pipedream, by what "
                  "--profile says; numbers count the embedding, blocks and the head"},
                 layout.partition),
            on_off({"sequence-parallel", "", "tensor ranks share the rows between their branches, too"},
                   layout.sequence_parallel),
            on_off({"shard-optimizer", "", "each replica keeps and updates its part of the optimizer's state"},
                   layout.shard_optimizer),
            choices(
                {"recompute", "",
                 "what is computed again instead of kept, of all stages or of each: nothing, what is "
                 "cheap, everything but the inputs of blocks"},
                layout.recompute,
                {{"none", Recompute::none}, {"selective", Recompute::selective}, {"full", Recompute::full}}),
        }};
}

OptionGroup schedule_options(ScheduleConfig& schedule) {
    return {
        "schedule",
        {
            text({"schedule", "NAME|FILE.csv",
                  "inter-layer, gpipe, 1f1b, interleaved, looped-bfs, zb-h1, zb-h2, zb-v, auto (made from what "
                  "stages cost), or a file of programs"},
                 schedule.schedule),
            whole_number(
                {"microbatches", "M", "micro-batches of a step, of each replica or, with --layout, in all"},
                schedule.microbatches, 1),
            whole_number({"chunks", "V", "stages of a rank, for interleaved and looped-bfs; zb-v has 2"},
                         schedule.chunks, 1),
        }};
}

Option length_option(ScheduleConfig& schedule) {
    return choice({"length", "",
                   "samples of unlike length: padded to the longest there is, to the longest of their "
                   "micro-batch, or laid end to end"},
                  schedule.length,
                  {{"fixed", LengthPolicy::fixed}, {"pad", LengthPolicy::pad}, {"pack", LengthPolicy::pack}});
}

OptionGroup flexible_options(ScheduleConfig& schedule, LayoutConfig& layout) {
    return {"flexible",
            {
                length_option(schedule),
                size_in_bytes({"memory-limit", "",
                               "what a rank may hold; 0: as much as it likes. --schedule auto and --partition "
                               "measured and pipedream keep to it, other plans beyond it are refused"},
                              layout.memory_limit, 0),
            }};
}

OptionGroup cost_options(CostConfig& costs) {
    return {"costs",
            {
                profile_option(costs.profiles),
                cost_option(costs.stages),
            }};
}

OptionGroup precision_options(PrecisionConfig& precision) {
    return {
        "precision",
        {
            choice({"dtype", "",
                    "numbers of 32 or 64 bits; bf16, beside sums and weights in f32: of GPUs and ghosts"},
                   precision.dtype,
                   {{"f32", Precision::f32}, {"f64", Precision::f64}, {"bf16", Precision::bf16}}),
            choice(
                {"device", "",
                 "processors, or GPUs by CUDA; auto: GPUs where every rank has one; reference: plain loops to "
                 "compare with; ghost: shapes and costs alone (`trireme simulate --math off`)"},
                precision.device,
                {{"auto", DeviceKind::automatic},
                 {"cpu", DeviceKind::cpu},
                 {"cuda", DeviceKind::cuda},
                 {"reference", DeviceKind::reference},
                 {"ghost", DeviceKind::ghost}}),
        }};
}

OptionGroup run_options(RunOptions& run) {
    return {
        "run",
        {
            whole_number({"steps", "", "updates of the parameters; 0: --epochs decides"}, run.steps),
            whole_number({"batch", "B", "samples in a step, over all replicas"}, run.batch, 1),
            whole_number({"seed", "S", "of the weights, the order of the rows and dropout"}, run.seed),
            text({"run-dir", "DIR", "where the records go, created anew; runs/MODEL-TIME if not given"},
                 run.run_dir),
            whole_number({"eval-every", "K", "steps between evaluations; 0: at the end only"}, run.eval_every),
            whole_number({"checkpoint-every", "K", "steps between checkpoints; 0: at the end only"},
                         run.checkpoint_every),
            whole_number({"keep", "N", "checkpoints, the newest; 0: all"}, run.keep),
            text({"resume", "off|auto|PATH",
                  "go on from the newest checkpoint of --run-dir, if there is one, or from a checkpoint or a "
                  "run "
                  "directory; off refuses a run directory that holds steps"},
                 run.resume),
            choice({"on-save-error", "",
                    "a checkpoint that cannot be written, unless it is the last: end, or go on"},
                   run.on_save_error, {{"stop", OnSaveError::stop}, {"go-on", OnSaveError::go_on}}),
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
                    "layer, "
                    "micro-batch and kernel of the first value that is not finite"},
                   run.on_nan, {{"stop", OnNan::stop}, {"skip", OnNan::skip}}),
            whole_number({"gpu-clock", "MHZ",
                          "at which GPUs are held while the run lasts, where that is allowed; 0: as they are"},
                         run.gpu_clock),
            trace_option(run.trace),
            flag({"dry-run", "", "check everything, say what would be done, and end"}, run.dry_run),
            flag({"quiet", "", "no lines of progress"}, run.quiet),
            flag({"verbose", "", "more lines of progress"}, run.verbose),
            whole_number({"threads", "", "of one rank; 0: the node's cores divided among its ranks"},
                         run.threads),
        }};
}

OptionGroup only(OptionGroup group, const std::vector<std::string>& names) {
    std::erase_if(group.options, [&](const Option& option) {
        return std::find(names.begin(), names.end(), option.words.name) == names.end();
    });
    return group;
}

void refuse_missing_corpus(const DataConfig& data) {
    if (!data.corpus.empty()) return;
    throw ConfigError("no corpus is given; name one with --corpus FILE.h5 (`trireme prepare` makes it)");
}

void check_duration(const RunConfig& config) {
    const std::size_t steps = config.run.steps;
    const double epochs = config.data.epochs;
    if (steps == 0 && epochs == 0) {
        throw ConfigError("nothing says how long to train; give --steps N or --epochs E");
    }
    if (steps > 0 && epochs > 0) {
        throw ConfigError(cat("--steps ", steps, " and --epochs ", epochs,
                              " both say how long to train; keep one (0 takes the other back)"));
    }
}

}  // namespace

std::vector<OptionGroup> train_options(RunConfig& config) {
    OptionGroup costs = cost_options(config.costs);
    for (const Option& option : device_cost_options(config.costs)) costs.options.push_back(option);
    OptionGroup flexible = flexible_options(config.schedule, config.layout);
    for (const Option& option : policy_options(config.policy)) flexible.options.push_back(option);
    return {data_options(config.data),
            task_options(config.task),
            model_options(config.model, config.data),
            optimizer_options(config.optimizer),
            layout_options(config.layout),
            schedule_options(config.schedule),
            flexible,
            costs,
            {"emulation", {slow_option(config.emulation.slow)}},
            precision_options(config.precision),
            run_options(config.run)};
}

std::vector<OptionGroup> evaluate_options(EvaluateConfig& config) {
    RunConfig& run = config.run;
    OptionGroup what{
        "evaluate",
        {
            text({"resume", "PATH",
                  "the model: a checkpoint, a run directory (its latest one), or a folder or file of Hugging "
                  "Face's"},
                 config.resume),
            text({"corpus", "FILE.h5", "rows, made by `trireme prepare`"}, run.data.corpus),
            whole_number({"vocabulary", "", "tokens of a model that has more than the corpus"},
                         run.model.vocabulary, 1),
            choice({"rows", "", "all rows, or those that training keeps for validation"},
                   config.only_validation, {{"all", false}, {"validation", true}}),
            text({"output", "FILE.json", "the figures as JSON, too"}, config.output),
            whole_number({"batch", "B", "samples at a time, over all ranks"}, run.run.batch, 1),
            number({"stall-timeout", "SECONDS", "without progress, after which the job gives up"},
                   run.run.stall_timeout, above(0)),
            whole_number({"threads", "", "of one rank; 0: the node's cores divided among its ranks"},
                         run.run.threads),
        }};
    OptionGroup data = data_options(run.data);
    std::erase_if(data.options,
                  [](const Option& o) { return o.words.name == "corpus" || o.words.name == "epochs"; });
    data.options.push_back(document_end_option(run.data));
    OptionGroup task = task_options(run.task);
    std::erase_if(task.options, [](const Option& o) { return o.words.name == "label-smoothing"; });
    OptionGroup layout = layout_options(run.layout);
    std::erase_if(layout.options, [](const Option& o) {
        return o.words.name == "shard-optimizer" || o.words.name == "recompute";
    });
    return {what,
            data,
            task,
            layout,
            schedule_options(run.schedule),
            flexible_options(run.schedule, run.layout),
            cost_options(run.costs),
            precision_options(run.precision)};
}

std::vector<OptionGroup> profile_options(ProfileCommand& command) {
    RunConfig& run = command.run;
    OptionGroup what{
        "profile",
        {
            text({"output", "FILE.json", "the profile; it appears when it is whole"}, command.profile.output),
            whole_number({"batch", "B", "samples in the micro-batch"}, run.run.batch, 1),
            whole_number({"repeat", "K", "times that each layer is measured; the median counts"},
                         command.profile.repeats, 1),
            whole_number({"threads", "", "of a rank; 0: all cores"}, run.run.threads),
            whole_number({"seed", "S", "of the order of the rows"}, run.run.seed),
            flag({"quiet", "", "no table"}, command.profile.quiet),
        }};
    return {what,
            only(data_options(run.data), {"corpus", "max-length", "long"}),
            only(task_options(run.task), {"task"}),
            model_options(run.model, run.data),
            only(optimizer_options(run.optimizer), {"optimizer"}),
            {"flexible", {length_option(run.schedule)}},
            precision_options(run.precision)};
}

void check_evaluate_options(const EvaluateConfig& config) {
    if (config.resume.empty()) {
        throw ConfigError("no model is given; name a checkpoint or a run directory with --resume PATH");
    }
    refuse_missing_corpus(config.run.data);
}

void check_profile_options(const ProfileCommand& command) {
    if (command.profile.output.empty()) {
        throw ConfigError("no output is given; name one with --output FILE.json");
    }
}

void check_train_options(const RunConfig& config) {
    if (config.precision.device != DeviceKind::ghost) {
        refuse_missing_corpus(config.data);
        check_duration(config);
    }
    if (config.precision.device == DeviceKind::ghost && config.run.gpu_clock > 0) {
        throw ConfigError(
            cat("--gpu-clock ", config.run.gpu_clock,
                " is of GPUs, and ghosts have none; a simulated device has its cluster's clocks"));
    }
    if (config.run.quiet && config.run.verbose) {
        throw ConfigError("--quiet and --verbose contradict each other; keep one (--quiet=off takes it back)");
    }
}

}  // namespace trireme::app
