#include "app/help.hpp"

#include "app/command_line.hpp"
#include "app/plan_options.hpp"
#include "app/simulate_options.hpp"
#include "app/tool_options.hpp"
#include "app/train_options.hpp"
#include "app/values.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/version.hpp"

namespace trireme::app {
namespace {

constexpr const char* config_note =
    "\nAn option is written --name value or --name=value, one without a value --name, --name=on or "
    "--name=off.\n"
    "The same names, grouped in the same sections, make a config file; --dump-config prints one.\n";

std::string train_help() {
    RunConfig config;
    std::vector<OptionGroup> groups = train_options(config);
    std::string file;
    bool dump = false;
    groups.push_back(config_options(file, dump));
    return cat("Usage: trireme train --corpus FILE.h5 --steps N [options]\n",
               "       mpirun -n RANKS trireme train ...     or srun, in a job\n\n",
               "Trains a model on a corpus. Without mpirun or srun it runs on one rank.\n", option_help(groups),
               config_note);
}

std::string plan_help() {
    PlanConfig config;
    std::vector<OptionGroup> groups = train_options(config.run);
    groups.insert(groups.begin(), plan_options(config));
    std::string file;
    groups.push_back(config_file_option(file));
    return cat(
        "Usage: trireme plan [options]\n\n",
        "Says what `trireme train` with these options would be, and starts nothing: who holds what, parameters "
        "and\nbytes, the order of work, and how long each rank would wait. Without --corpus every sample is as "
        "long as may be.\n",
        option_help(groups));
}

std::string simulate_help() {
    SimulateConfig config;
    RunConfig run;
    std::vector<OptionGroup> groups = train_options(run);
    groups.insert(groups.begin(), simulate_options(config));
    std::string file;
    groups.push_back(config_file_option(file));
    return cat("Usage: trireme simulate --cluster FILE.json --ranks N --corpus FILE.h5 --steps N [options]\n\n",
               "Trains on a cluster that is described in a file: the real program, under SimGrid. Losses are "
               "those of a "
               "run,\nand kernels and messages take the time of the cluster's devices and links. Needs "
               "trireme-sim and "
               "smpirun.\n",
               option_help(groups), config_note);
}

std::string profile_help() {
    ProfileCommand command;
    return cat(
        "Usage: trireme profile --model NAME --output FILE.json [options]\n\n",
        "Measures on this machine what each layer of a model costs: seconds of its passes, of both halves of "
        "the\nbackward one and of its update, and bytes. `train` and `plan` cut a model by that: --partition "
        "measured\nor pipedream, --profile FILE.json. Without --corpus samples are made up, as long as may "
        "be.\n",
        option_help(profile_options(command)));
}

std::string doctor_help() {
    DoctorConfig config;
    return cat("Usage: trireme doctor [options]\n",
               "       mpirun -n RANKS trireme doctor ...     or srun, in a job\n\n",
               "Says what works where it is started, and what does not: MPI, ranks and hosts, cores, memory, "
               "GPUs, HDF5, "
               "the\nspeed of a folder, messages between hosts; and what is missing, and how to get it. It "
               "ends with 0 "
               "where\nall that training needs works, and 3 where something fails.\n",
               option_help(doctor_options(config)));
}

std::string evaluate_help() {
    EvaluateConfig config;
    return cat(
        "Usage: trireme evaluate --resume PATH --corpus FILE.h5 [options]\n",
        "       mpirun -n RANKS trireme evaluate ...     or srun, in a job\n\n",
        "Says how good a stored model is on a corpus: loss and perplexity of texts, accuracy of hidden tokens "
        "and of\nclasses, exact match and F1 of answers. Nothing is trained.\n",
        option_help(evaluate_options(config)));
}

std::string prepare_help() {
    PrepareConfig config;
    return cat(
        "Usage: trireme prepare INPUT... --output FILE.h5 [options]\n",
        "       trireme prepare --synthetic csn --output FILE.h5 [options]\n\n",
        "Makes a corpus from JSON lines, text, rows of ids, SQuAD's questions, or the images of CIFAR-10 "
        "or MNIST,\ngzipped or not.\n",
        option_help(prepare_options(config)));
}

std::string convert_help() {
    ConvertConfig config;
    return cat(
        "Usage: trireme convert HUGGING_FACE_FOLDER CHECKPOINTS [options]\n",
        "       trireme convert CHECKPOINT FOLDER [options]\n\n",
        "Makes a checkpoint, CHECKPOINTS/step-0, of Hugging Face's files, or such files of a checkpoint. "
        "Bits are kept.\n",
        option_help(convert_options(config)));
}

std::string inspect_help() {
    InspectConfig config;
    return cat("Usage: trireme inspect FILE [options]\n\nSays what a file is, in words.\n",
               option_help(inspect_options(config)));
}

std::string report_help() {
    ReportConfig config;
    return cat("Usage: trireme report RUN_DIR [options]\n\n",
               "Shows what a run did, or has done so far, on one HTML page that needs nothing else.\n",
               option_help(report_options(config)));
}

}  // namespace

std::vector<std::string> command_names() {
    return {"train",   "evaluate", "plan",    "simulate", "profile", "prepare",
            "convert", "report",   "inspect", "doctor",   "help"};
}

std::string general_help() {
    return "Trireme trains transformers under MPI.\n\n"
           "Usage: trireme COMMAND [options]\n\n"
           "  train      train a model, under srun or mpirun, or alone on one rank\n"
           "  evaluate   say how good a stored model is on a corpus\n"
           "  plan       say what a run would be, and start nothing\n"
           "  simulate   train on a cluster that is described, in simulated time\n"
           "  profile    measure what each layer of a model costs on this machine\n"
           "  prepare    make a corpus from text, ids, questions or images\n"
           "  convert    Hugging Face's files to a checkpoint, or back\n"
           "  report     show what a run did, on one HTML page\n"
           "  inspect    say what a file is\n"
           "  doctor     say what works on this machine, and what is missing\n"
           "  help       trireme help COMMAND, or trireme COMMAND --help: its options\n\n"
           "  --version  this program, and what it is built on\n\n"
           "It ends with 0 when the work is done, 2 when you can fix what is wrong, 3 when the machine "
           "refused, 70\n"
           "for a bug of its own.\n";
}

std::string command_help(const std::string& command) {
    if (command == "train") return train_help();
    if (command == "evaluate") return evaluate_help();
    if (command == "plan") return plan_help();
    if (command == "simulate") return simulate_help();
    if (command == "profile") return profile_help();
    if (command == "prepare") return prepare_help();
    if (command == "convert") return convert_help();
    if (command == "report") return report_help();
    if (command == "doctor") return doctor_help();
    return command == "inspect" ? inspect_help() : general_help();
}

std::string version_text(const std::string& mpi) {
    const BuildFacts facts = build_facts();
    return cat("trireme ", version(), "\n", "compiler   ", facts.compiler, "\n", "MPI        ", mpi, "\n",
               "HDF5       ", facts.hdf5, "\n", "matrices   ", facts.matrices, "\n");
}

OptionGroup config_file_option(std::string& file) {
    Option config = text({"config", "FILE",
                          "options from an INI file; repeatable, later files win over earlier ones "
                          "and the command line over all"},
                         file);
    config.add = config.set;
    return {"config", {config}};
}

OptionGroup config_options(std::string& file, bool& dump) {
    OptionGroup group = config_file_option(file);
    group.options.push_back(
        flag({"dump-config", "", "print all options with their values as such a file, and end"}, dump));
    return group;
}

}  // namespace trireme::app
