#include <algorithm>

#include "app/options/choices.hpp"
#include "app/options/options.hpp"
#include "app/options/values.hpp"
#include "trireme/base/error.hpp"
#include "trireme/schedule/catalog.hpp"

namespace trireme::app {
namespace {

OptionGroup make_data_options(config::DataConfig& data) {
    return {"data",
            {
                make_text_option({"corpus", "FILE.h5", "corpus file, made by `trireme prepare`"}, data.corpus),
                make_integer_option({"max-length", "N",
                                     "maximum number of tokens per sample; 0: the model's number of positions"},
                                    data.max_length),
                make_table_option({"long", "", "what to do with rows longer than --max-length"}, data.long_rows,
                                  data::long_row_choices),
                make_number_option(
                    {"validation-share", "", "fraction of the rows kept for validation, from 0 to below 1"},
                    data.validation_fraction, make_range_from_to_below(0, 1)),
                make_table_option({"order", "", "order of the training samples within an epoch"}, data.order,
                                  data::sample_orders),
                make_number_option({"epochs", "E", "number of passes over the training rows; 0: use --steps"},
                                   data.epochs, make_range_from(0)),
            }};
}

Option make_document_end_option(config::DataConfig& data) {
    return make_choice_option(
        {"document-end", "", "what to append to each row"}, data.has_document_end,
        {{"eos", true, "the tokenizer's end token, which is also predicted"}, {"none", false, "nothing"}});
}

OptionGroup make_task_options(config::TaskConfig& task) {
    return {"task",
            {
                make_table_option(
                    {"task", "", "training objective; if unset, the one that model and corpus have in common"},
                    task.task, all_tasks),
                make_number_option(
                    {"mask-share", "", "fraction of tokens to predict with --task masked, between 0 and 1"},
                    task.mask_fraction, make_range_between(0, 1)),
                make_number_option(
                    {"label-smoothing", "", "label smoothing with --task classify, from 0 to below 1"},
                    task.label_smoothing, make_range_from_to_below(0, 1)),
            }};
}

OptionGroup make_model_options(config::ModelChoice& model, config::DataConfig& data) {
    return {
        "model",
        {
            make_text_option(
                {"model", "NAME|FILE",
                 "model name (gpt2, llama-1b, bert-base, vit-tiny, ...; an unknown name lists all) or path of "
                 "a "
                 "Hugging Face config.json; if unset, the model of --init, or gpt2-tiny"},
                model.name),
            make_text_option(
                {"init", "random|PATH",
                 "initial weights: random, or those of a checkpoint, a run directory, or a Hugging Face folder "
                 "or safetensors file"},
                model.init),
            make_on_off_option(
                {"tied", "", "share the token embedding with the output head; if unset, the model's"},
                model.tied),
            make_number_option(
                {"dropout", "P", "dropout probability, from 0 to below 1; if unset, the model's"},
                model.dropout, make_range_from_to_below(0, 1)),
            make_document_end_option(data),
            make_integer_option({"layers", "", "number of transformer blocks; if unset, the model's"},
                                model.layers, 1),
            make_integer_option({"width", "", "hidden size; if unset, the model's"}, model.width, 1),
            make_integer_option({"heads", "", "number of attention heads; if unset, the model's"}, model.heads,
                                1),
            make_integer_option(
                {"groups", "", "number of key/value heads (grouped-query attention); if unset, the model's"},
                model.groups, 1),
            make_integer_option({"mlp-width", "", "hidden size of the MLP; if unset, the model's"},
                                model.mlp_width, 1),
            make_integer_option(
                {"positions", "", "number of positions (context length); if unset, the model's"},
                model.positions, 1),
            make_integer_option({"vocabulary", "", "vocabulary size; 0: the corpus's; if unset, the model's"},
                                model.vocabulary),
            make_integer_option(
                {"labels", "", "number of classes of --task classify; 0: the corpus's; if unset, the model's"},
                model.labels),
            make_integer_option({"channels", "", "number of channels of an image; if unset, the model's"},
                                model.channels, 1),
            make_integer_option(
                {"image-size", "", "height and width of an image in pixels; if unset, the model's"},
                model.image_size, 1),
            make_integer_option({"patch", "", "height and width of a patch in pixels; if unset, the model's"},
                                model.patch, 1),
        }};
}

Option make_partition_option(config::LayoutConfig& layout) {
    return make_text_option(
        {"partition",
         "KIND|N,N,...",
         "how to cut the layers into pipeline stages",
         {{"uniform", "equal numbers of items: the embedding, each block, and the head"},
          {"parameters", "nearly equal numbers of parameters"},
          {"type", "equal numbers of blocks; embedding and head are not counted"},
          {"measured", "nearly equal seconds, from --profile; may cut between attention and MLP of a block"},
          {"pipedream", "PipeDream's planner, from --profile; also chooses the replicas of each stage"},
          {"4,3,3,4", "number of items of each stage"}}},
        layout.partition);
}

OptionGroup make_layout_options(config::LayoutConfig& layout) {
    return {
        "layout",
        {
            make_integer_option(
                {"pipe", "P", "pipeline-parallel size; --pipe x --data x --tensor is the number of all ranks"},
                layout.pipe, 1),
            make_integer_option(
                {"data", "D", "number of data-parallel replicas; 0: the largest number that the ranks allow"},
                layout.data),
            make_integer_option({"tensor", "T", "number of tensor-parallel ranks per replica"}, layout.tensor,
                                1),
            make_text_option(
                {"layout", "FILE.json",
                 "layout file in place of --pipe, --data and --tensor: layers and replicas of each stage, "
                 "ranks "
                 "and shares of each replica"},
                layout.layout),
            make_partition_option(layout),
            make_on_off_option(
                {"sequence-parallel", "",
                 "split the activations outside attention and MLP over the tensor-parallel ranks"},
                layout.sequence_parallel),
            make_on_off_option({"shard-optimizer", "", "shard the optimizer state over the replicas (ZeRO-1)"},
                               layout.shard_optimizer),
            make_table_list_option({"recompute", "", "activation recomputation: one value, or one per stage"},
                                   layout.recompute, plan::recompute_values),
            make_integer_option({"frozen", "N", "freeze the first N blocks and, if N > 0, the embedding"},
                                layout.frozen),
        }};
}

std::vector<ValueMeaning> list_schedule_meanings() {
    std::vector<ValueMeaning> meanings;
    for (const schedule::Schedule& schedule : schedule::list_schedules())
        meanings.emplace_back(schedule.name, schedule.help);
    meanings.emplace_back(schedule::searched_schedule_name,
                          "a search with the stage costs of --cost or --profile, within --memory-limit");
    meanings.emplace_back("FILE.csv", "your own schedule, in the format of `trireme plan --format csv`");
    return meanings;
}

OptionGroup make_schedule_options(config::ScheduleConfig& schedule) {
    return {
        "schedule",
        {
            make_text_option({"schedule", "NAME|FILE.csv", "pipeline schedule", list_schedule_meanings()},
                             schedule.schedule),
            make_integer_option({"microbatches", "M",
                                 "micro-batches per step of each replica (with --layout: of all replicas); the "
                                 "maximum number with --length dynapipe or balanced"},
                                schedule.microbatches, 1),
            make_integer_option(
                {"chunks", "V", "stages per rank: 2 or more for interleaved and looped-bfs, always 2 for zb-v"},
                schedule.chunks, 1),
        }};
}

Option make_length_option(config::ScheduleConfig& schedule) {
    return make_choice_option(
        {"length", "", "how to batch samples of different lengths"}, schedule.length,
        {{"fixed", plan::LengthPolicy::fixed, "pad to the longest sample of the corpus"},
         {"pad", plan::LengthPolicy::pad, "pad to the longest sample of the micro-batch"},
         {"step", plan::LengthPolicy::step, "pad to the longest sample of the step"},
         {"pack", plan::LengthPolicy::pack, "concatenate the samples of a micro-batch, without padding"},
         {"dynapipe", plan::LengthPolicy::dynapipe, "pad, and form training micro-batches by predicted time"},
         {"balanced", plan::LengthPolicy::balanced,
          "pack, and form training micro-batches by predicted time"}});
}

OptionGroup make_flexible_options(config::ScheduleConfig& schedule, config::LayoutConfig& layout,
                                  config::PolicyConfig& policy) {
    OptionGroup group{"flexible", {make_length_option(schedule)}};
    for (const Option& option : make_elastic_options(policy)) group.options.push_back(option);
    group.options.push_back(make_size_option(
        {"memory-limit", "",
         "memory limit per rank; plans beyond it are refused, and --schedule auto and --partition measured and "
         "pipedream stay below it; 0: no limit, but with --elastic length the memory of the device"},
        layout.memory_limit, 0));
    return group;
}

OptionGroup make_cost_options(config::CostConfig& costs) {
    return {"costs",
            {
                make_profile_option(costs.profiles),
                make_cost_option(costs.stages),
            }};
}

OptionGroup make_precision_options(config::PrecisionConfig& precision) {
    return {
        "precision",
        {
            make_choice_option(
                {"dtype", "", "data type"}, precision.dtype,
                {{"f32", config::Precision::f32, "32 bits"},
                 {"f64", config::Precision::f64, "64 bits"},
                 {"bf16", config::Precision::bf16,
                  "weights and activations in bf16, master weights and accumulation in f32; GPUs only"}}),
            make_choice_option(
                {"device", "", "where to compute"}, precision.device,
                {{"auto", config::DeviceKind::automatic, "GPUs if every rank has one, else CPU cores"},
                 {"cpu", config::DeviceKind::cpu, "CPU cores"},
                 {"cuda", config::DeviceKind::cuda, "NVIDIA GPUs"},
                 {"reference", config::DeviceKind::reference, "CPU cores, with plain loops, for comparison"},
                 {"ghost", config::DeviceKind::ghost,
                  "nowhere: shapes and costs only (trireme simulate --math off)"}}),
        }};
}

// Returns `group` with only the options in `names`.
OptionGroup select_options(OptionGroup group, const std::vector<std::string>& names) {
    std::erase_if(group.options, [&](const Option& option) {
        return std::find(names.begin(), names.end(), option.description.name) == names.end();
    });
    return group;
}

void refuse_missing_corpus(const config::RunConfig& config) {
    if (!config.data.corpus.empty()) return;
    const config::RunOptions& run = config.run;
    const bool run_begins = run.resume == "auto" && !run.run_dir.empty();
    throw ConfigError(cat(
        run_begins ? cat("--run-dir ", run.run_dir, " holds no checkpoint, so the run starts at step 1, but ")
                   : "",
        "no corpus is given; name one with --corpus FILE.h5 (`trireme prepare` makes it)"));
}

// Throws ConfigError unless exactly one of --steps and --epochs is set.
void check_duration(const config::RunConfig& config) {
    const std::size_t steps = config.run.steps;
    const double epochs = config.data.epochs;
    if (steps == 0 && epochs == 0) {
        throw ConfigError("nothing says how long to train; give --steps N or --epochs E");
    }
    if (steps > 0 && epochs > 0) {
        throw ConfigError(cat("--steps ", steps, " and --epochs ", epochs,
                              " both say how long to train; drop one, or set it to 0"));
    }
}

}  // namespace

std::vector<OptionGroup> make_train_options(config::RunConfig& config) {
    OptionGroup costs = make_cost_options(config.costs);
    for (const Option& option : make_device_cost_options(config)) costs.options.push_back(option);
    OptionGroup flexible = make_flexible_options(config.schedule, config.layout, config.policy);
    for (const Option& option : make_policy_options(config.policy)) flexible.options.push_back(option);
    return {make_data_options(config.data),
            make_task_options(config.task),
            make_model_options(config.model, config.data),
            make_optimizer_options(config.optimizer),
            make_layout_options(config.layout),
            make_schedule_options(config.schedule),
            flexible,
            costs,
            {"emulation", {make_slow_option(config.emulation.slow)}},
            make_precision_options(config.precision),
            make_run_options(config)};
}

std::vector<OptionGroup> make_evaluate_options(config::EvaluateConfig& config) {
    config::RunConfig& run = config.run;
    OptionGroup command_options{
        "evaluate",
        {
            make_text_option(
                {"resume", "PATH",
                 "the model: a checkpoint, a run directory (its latest checkpoint), or a Hugging Face folder "
                 "or "
                 "safetensors file"},
                config.resume),
            make_text_option({"corpus", "FILE.h5", "corpus file, made by `trireme prepare`"}, run.data.corpus),
            make_integer_option(
                {"vocabulary", "", "vocabulary size of the model, if it is larger than the corpus's"},
                run.model.vocabulary, 1),
            make_choice_option({"rows", "", "which rows to evaluate on"}, config.only_validation,
                               {{"all", false, "all rows of the corpus"},
                                {"validation", true, "the rows that `trireme train` keeps for validation"}}),
            make_text_option({"output", "FILE.json", "file to which the figures are also written, as JSON"},
                             config.output),
            make_integer_option({"batch", "B", "samples per batch, over all ranks"}, run.run.batch, 1),
            make_number_option({"stall-timeout", "SECONDS",
                                "seconds that a rank waits for another one before the job is ended"},
                               run.run.stall_timeout, make_range_above(0)),
            make_integer_option(
                {"threads", "", "threads per rank; 0: the cores of a node divided by its ranks"},
                run.run.threads),
        }};
    OptionGroup data = make_data_options(run.data);
    std::erase_if(data.options, [](const Option& o) {
        return o.description.name == "corpus" || o.description.name == "epochs" ||
               o.description.name == "order";
    });
    data.options.push_back(make_document_end_option(run.data));
    OptionGroup task = make_task_options(run.task);
    std::erase_if(task.options, [](const Option& o) { return o.description.name == "label-smoothing"; });
    OptionGroup layout = make_layout_options(run.layout);
    std::erase_if(layout.options, [](const Option& o) {
        const std::string& name = o.description.name;
        return name == "shard-optimizer" || name == "recompute" || name == "frozen";
    });
    return {command_options,
            data,
            task,
            layout,
            make_schedule_options(run.schedule),
            make_flexible_options(run.schedule, run.layout, run.policy),
            make_cost_options(run.costs),
            make_precision_options(run.precision)};
}

std::vector<OptionGroup> make_profile_options(ProfileCommand& command) {
    config::RunConfig& run = command.run;
    OptionGroup command_options{
        "profile",
        {
            make_text_option({"output", "FILE.json", "profile to write; the file appears when it is complete"},
                             command.profile.output),
            make_integer_option({"batch", "B", "samples per micro-batch"}, run.run.batch, 1),
            make_integer_option({"repeat", "K", "number of measurements per layer, of which the median counts"},
                                command.profile.repeats, 1),
            make_integer_option(
                {"threads", "", "threads per rank; 0: the cores of a node divided by its ranks"},
                run.run.threads),
            make_integer_option({"seed", "S", "random seed of the sample order"}, run.run.seed),
            make_switch_option({"quiet", "", "print no table"}, command.profile.quiet),
        }};
    return {command_options,
            select_options(make_data_options(run.data), {"corpus", "max-length", "long", "order"}),
            select_options(make_task_options(run.task), {"task"}),
            make_model_options(run.model, run.data),
            select_options(make_optimizer_options(run.optimizer), {"optimizer"}),
            {"flexible", {make_length_option(run.schedule)}},
            make_precision_options(run.precision)};
}

void check_evaluate_options(const config::EvaluateConfig& config) {
    if (config.resume.empty()) {
        throw ConfigError("no model is given; name a checkpoint or a run directory with --resume PATH");
    }
    refuse_missing_corpus(config.run);
}

void check_profile_options(const ProfileCommand& command) {
    if (command.profile.output.empty()) {
        throw ConfigError("no output is given; name one with --output FILE.json");
    }
}

void check_train_options(const config::RunConfig& config) {
    if (config.precision.device != config::DeviceKind::ghost) {
        refuse_missing_corpus(config);
        check_duration(config);
    }
    if (config.precision.device == config::DeviceKind::ghost && config.run.gpu_clock > 0) {
        throw ConfigError(cat("--gpu-clock ", config.run.gpu_clock,
                              " applies to GPUs, but a simulated run uses none; remove --gpu-clock"));
    }
    if (config.run.quiet && config.run.verbose) {
        throw ConfigError(
            "--quiet and --verbose contradict each other; drop one, or switch it off (--quiet=off)");
    }
}

}  // namespace trireme::app
