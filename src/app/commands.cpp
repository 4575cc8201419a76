#include "app/commands.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "app/config_file.hpp"
#include "app/options/options.hpp"
#include "app/options/tool_options.hpp"

namespace trireme::app {
namespace {

using Names = std::span<const std::string_view>;

bool has_name(Names names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

// The options of `train` that most runs need.
constexpr auto common_train_options = std::to_array<std::string_view>({"corpus",
                                                                       "max-length",
                                                                       "epochs",
                                                                       "model",
                                                                       "init",
                                                                       "lr",
                                                                       "lr-schedule",
                                                                       "min-lr",
                                                                       "warmup-steps",
                                                                       "weight-decay",
                                                                       "clip",
                                                                       "pipe",
                                                                       "data",
                                                                       "tensor",
                                                                       "partition",
                                                                       "recompute",
                                                                       "shard-optimizer",
                                                                       "schedule",
                                                                       "microbatches",
                                                                       "chunks",
                                                                       "length",
                                                                       "straggler",
                                                                       "memory-limit",
                                                                       "dtype",
                                                                       "device",
                                                                       "steps",
                                                                       "batch",
                                                                       "seed",
                                                                       "run-dir",
                                                                       "eval-every",
                                                                       "checkpoint-every",
                                                                       "keep",
                                                                       "resume",
                                                                       "time-limit",
                                                                       "dry-run",
                                                                       "threads",
                                                                       "config"});

// Options of `train` that the help of `train` does not show. The help of `plan` shows the first list, and the
// help of `simulate` shows the second list.
constexpr auto plan_help_options = std::to_array<std::string_view>({"cluster", "network"});
constexpr auto simulate_help_options = std::to_array<std::string_view>({"cluster", "network", "charge"});

OptionHelp describe_option(const Option& option) {
    return {.description = option.description, .default_text = option.get(), .is_switch = option.is_switch};
}

std::vector<GroupHelp> describe_groups(const std::vector<OptionGroup>& groups) {
    std::vector<GroupHelp> described;
    for (const OptionGroup& group : groups) {
        GroupHelp& help = described.emplace_back(GroupHelp{group.name, {}});
        for (const Option& option : group.options) help.options.push_back(describe_option(option));
    }
    return described;
}

// Returns `groups` with only those options for which `is_selected` is true.
template <class Predicate>
std::vector<GroupHelp> filter_options(std::vector<GroupHelp> groups, Predicate is_selected) {
    for (GroupHelp& group : groups)
        std::erase_if(group.options,
                      [&](const OptionHelp& option) { return !is_selected(option.description.name); });
    std::erase_if(groups, [](const GroupHelp& group) { return group.options.empty(); });
    return groups;
}

std::vector<GroupHelp> describe_train_groups() {
    config::RunConfig config;
    std::vector<OptionGroup> groups = make_train_options(config);
    std::string file;
    bool dump = false;
    groups.push_back(make_config_options(file, dump));
    return describe_groups(groups);
}

CommandHelp describe_train_command() {
    CommandHelp help{.name = "train",
                     .summary = "train a model, under srun or mpirun, or on one rank",
                     .usages = {"train --corpus FILE.h5 --steps N [options]",
                                "mpirun -n RANKS trireme train ...     or srun, in a job"},
                     .description = "Trains a model on a corpus. Without mpirun or srun it runs on one rank.",
                     .groups = {}};
    help.groups = filter_options(describe_train_groups(), [](const std::string& name) {
        return !has_name(simulate_help_options, name);
    });
    for (GroupHelp& group : help.groups)
        for (OptionHelp& option : group.options)
            option.is_common = has_name(common_train_options, option.description.name);
    return help;
}

CommandHelp describe_evaluate_command() {
    config::EvaluateConfig config;
    return {.name = "evaluate",
            .summary = "evaluate a stored model on a corpus",
            .usages = {"evaluate --resume PATH --corpus FILE.h5 [options]",
                       "mpirun -n RANKS trireme evaluate ...     or srun, in a job"},
            .description =
                "Evaluates a stored model on a corpus: loss and perplexity of texts, accuracy of masked "
                "tokens and of classes, exact match and F1 of answers.",
            .groups = describe_groups(make_evaluate_options(config))};
}

// Appends to the first group of `groups` the options of `train` that are listed in `names`.
std::vector<GroupHelp> append_train_options(std::vector<GroupHelp> groups, Names names) {
    for (GroupHelp& group : filter_options(describe_train_groups(),
                                           [&](const std::string& name) { return has_name(names, name); }))
        for (OptionHelp& option : group.options) groups.front().options.push_back(std::move(option));
    return groups;
}

CommandHelp describe_plan_command() {
    tools::PlanConfig config;
    return {.name = "plan",
            .summary = "show what a run would do and need, without starting it",
            .usages = {"plan [options]"},
            .description =
                "Shows what `trireme train` with these options would do: layout, parameters, memory, "
                "schedule, and how long each rank would be idle. It needs no MPI job and no GPU. "
                "Without --corpus, every sample has the maximum length.",
            .groups = append_train_options(describe_groups({make_plan_options(config)}), plan_help_options),
            .takes_train_options = true};
}

CommandHelp describe_simulate_command() {
    tools::SimulateConfig config;
    return {
        .name = "simulate",
        .summary = "train in simulated time, on a cluster described in a file",
        .usages = {"simulate --cluster FILE.json --ranks N --corpus FILE.h5 --steps N [options]"},
        .description =
            "Runs `trireme train` under SimGrid, on a cluster that is described in a file. Losses are "
            "those of a "
            "real run; kernels and messages take the time of the cluster's devices and links. It needs "
            "trireme-sim and smpirun.",
        .groups = append_train_options(describe_groups({make_simulate_options(config)}), simulate_help_options),
        .takes_train_options = true};
}

CommandHelp describe_profile_command() {
    ProfileCommand command;
    return {.name = "profile",
            .summary = "measure the cost of each layer of a model on this machine",
            .usages = {"profile --model NAME --output FILE.json [options]",
                       "mpirun -n RANKS trireme profile ...     measures links, too"},
            .description =
                "Measures what each layer of a model costs on this machine: seconds of its forward and "
                "backward passes and of its update, and bytes that it stores and sends. `train`, `plan` and "
                "`simulate` use the profile. Without --corpus, samples are generated and have the maximum "
                "length.",
            .groups = describe_groups(make_profile_options(command))};
}

CommandHelp describe_prepare_command() {
    tools::PrepareConfig config;
    return {.name = "prepare",
            .summary = "make a corpus from text, token ids, questions or images",
            .usages = {"prepare INPUT... --output FILE.h5 [options]",
                       "prepare --synthetic csn --output FILE.h5 [options]"},
            .description =
                "Makes a corpus from JSON lines, plain text, rows of token ids, SQuAD's questions, or the "
                "images of CIFAR-10 or MNIST. Inputs may be compressed with gzip.",
            .groups = describe_groups(make_prepare_options(config))};
}

CommandHelp describe_convert_command() {
    tools::ConvertConfig config;
    return {
        .name = "convert",
        .summary = "convert Hugging Face models to checkpoints, and back",
        .usages = {"convert HUGGING_FACE_FOLDER CHECKPOINTS [options]", "convert CHECKPOINT FOLDER [options]"},
        .description =
            "Converts a Hugging Face model to a checkpoint, CHECKPOINTS/step-0, or a checkpoint to a "
            "Hugging Face folder. Weights keep their bits, unless --dtype is set.",
        .groups = describe_groups(make_convert_options(config))};
}

CommandHelp describe_report_command() {
    ReportConfig config;
    return {.name = "report",
            .summary = "show what a run did, on one HTML page",
            .usages = {"report RUN_DIR [options]"},
            .description = "Shows what a run did, or has done so far, on one self-contained HTML page.",
            .groups = describe_groups(make_report_options(config))};
}

CommandHelp describe_inspect_command() {
    InspectConfig config;
    return {.name = "inspect",
            .summary = "describe a corpus, a checkpoint or a model file",
            .usages = {"inspect FILE [options]"},
            .description = "Describes a corpus, a checkpoint, a Hugging Face folder or a safetensors file.",
            .groups = describe_groups(make_inspect_options(config))};
}

CommandHelp describe_doctor_command() {
    tools::DoctorConfig config;
    return {
        .name = "doctor",
        .summary = "check what works on this machine and what is missing",
        .usages = {"doctor [options]", "mpirun -n RANKS trireme doctor ...     or srun, in a job"},
        .description =
            "Checks MPI, ranks and hosts, cores, memory, GPUs, HDF5, the speed of the --scratch folder, and "
            "messages between hosts, and says how to get what is missing. The exit code is 0 if "
            "training works here, and 3 otherwise.",
        .groups = describe_groups(make_doctor_options(config))};
}

CommandHelp describe_help_command() {
    return {.name = "help",
            .summary = "show the options of a command",
            .usages = {"help [COMMAND [GROUP|--all]]", "help --markdown", "help --man", "help --completion"},
            .description =
                "Shows the commands, or options of one command: the common ones, all, or one group. Also "
                "prints the reference of all options, as Markdown or as a man page, and a completion script "
                "for bash.",
            .groups = {}};
}

}  // namespace

std::string format_name_and_value(const OptionHelp& option) {
    return cat("--", option.description.name, option.is_switch ? "" : " " + option.description.value_format);
}

std::vector<CommandHelp> describe_commands() {
    return {describe_train_command(),    describe_evaluate_command(), describe_plan_command(),
            describe_simulate_command(), describe_profile_command(),  describe_prepare_command(),
            describe_convert_command(),  describe_report_command(),   describe_inspect_command(),
            describe_doctor_command(),   describe_help_command()};
}

std::vector<std::string> list_command_names() {
    std::vector<std::string> names;
    for (const CommandHelp& command : describe_commands()) names.push_back(command.name);
    return names;
}

}  // namespace trireme::app
