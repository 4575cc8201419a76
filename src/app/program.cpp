#include "app/program.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <new>
#include <ostream>
#include <sstream>
#include <utility>

#include "app/options/options.hpp"
#include "app/options/tool_options.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"
#include "trireme/base/version.hpp"

namespace trireme::app {
namespace {

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    return words;
}

// Returns the features of the first processor, "fpu vme ... avx2"; empty if unknown.
std::string features_of_processor() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        const bool lists_features = line.rfind("flags", 0) == 0 || line.rfind("Features", 0) == 0;
        if (lists_features && line.find(':') != std::string::npos) return line.substr(line.find(':') + 1);
    }
    return "";
}

std::string own_host() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "this host";
}

struct NamedOptions {
    const char* command;
    std::vector<OptionGroup> groups;  // refer to the command, which must outlive them
};

NamedOptions options_of(TrainCommand& command) { return {"train", train_options(command.config)}; }
NamedOptions options_of(config::EvaluateConfig& config) { return {"evaluate", evaluate_options(config)}; }
NamedOptions options_of(ProfileCommand& command) { return {"profile", profile_options(command)}; }
NamedOptions options_of(tools::DoctorConfig& config) { return {"doctor", doctor_options(config)}; }
template <class Other>
NamedOptions options_of(Other&) {
    throw BugError("a command that one process runs has no facts to compare");
}

bool may_differ(const std::string& option) { return option == "run-dir" || option == "threads"; }

constexpr double stalls_to_start = 10;
constexpr double max_seconds = 1e6;  // keeps the deadline within the range of the clock

[[noreturn]] void leave(double seconds) {
    const Failure failure{ExitCode::resource,
                          cat("MPI has not started within ", seconds,
                              " s (ten times --stall-timeout): a process of this job has not joined it; start "
                              "every rank with the same command line")};
    std::cerr << block(failure) << std::flush;
    std::_Exit(static_cast<int>(failure.code));
}

constexpr const char* request = "\n  this is a bug in trireme; please report it with the command line";

Failure from(const Error& error) {
    if (error.code() != ExitCode::bug) return {error.code(), error.what()};
    const Where where = error.where();
    return {error.code(), cat(error.what(), " (", where.file, ":", where.line, ")", request)};
}

// Makes each line printable, because file names and messages of libraries may contain any bytes. The limit is
// far above the length of our own messages.
std::string printable_lines(std::string_view message) {
    constexpr std::size_t longest_line = 4000;
    std::string lines;
    for (std::size_t end = message.find('\n'); end != std::string_view::npos; end = message.find('\n')) {
        lines += printable(message.substr(0, end), longest_line) + '\n';
        message.remove_prefix(end + 1);
    }
    return lines + printable(message, longest_line);
}

}  // namespace

std::vector<std::string> missing_features(const std::string& required, const std::string& available) {
    const std::vector<std::string> there = words_of(available);
    std::vector<std::string> missing;
    for (const std::string& feature : words_of(required)) {
        if (std::find(there.begin(), there.end(), feature) == there.end()) missing.push_back(feature);
    }
    return missing;
}

void check_features(const BuildFacts& build, const std::string& available, const std::string& host) {
    if (available.empty()) return;
    std::string list;
    for (const std::string& feature : missing_features(build.cpu_features, available)) {
        list += cat(list.empty() ? "" : ", ", feature);
    }
    if (list.empty()) return;
    throw ResourceError(
        cat(host, " lacks ", list, ", which this build of Trireme uses (-march=", build.cpu,
            "); build with -DTRIREME_CPU_ARCH=x86-64-v3, or with the name of the oldest processor "
            "that is to run it"));
}

void check_processor(const BuildFacts& build) { check_features(build, features_of_processor(), own_host()); }

void warn_of_no_meeting(const Start& start, std::ostream& out) {
    const bool may_meet = start.launcher != Launcher::srun || start.has_pmix || start.has_pmi;
    if (may_meet || start.process > 0 || start.processes == 1) return;
    out << "trireme: srun offers its " << start.processes
        << " processes neither PMIx nor PMI; if MPI does not start now, use srun --mpi=pmix (srun --mpi=list "
           "says what there is)\n"
        << std::flush;
}

std::vector<comm::Fact> start_facts(Command command) {
    const NamedOptions options = std::visit([](auto& wanted) { return options_of(wanted); }, command);
    std::vector<comm::Fact> facts{{"the command", options.command}};
    if (!std::holds_alternative<tools::DoctorConfig>(command))
        facts.push_back({"the source version", version()});
    for (const OptionGroup& group : options.groups) {
        for (const Option& option : group.options) {
            if (may_differ(option.words.name)) continue;
            facts.push_back({cat("--", option.words.name), option.get()});
        }
    }
    if (const auto* train = std::get_if<TrainCommand>(&command))
        facts.push_back({"--dump-config", train->dump_config ? "on" : "off"});
    return facts;
}

double stall_seconds(const Command& command) {
    if (const auto* train = std::get_if<TrainCommand>(&command)) return train->config.run.stall_timeout;
    if (const auto* evaluate = std::get_if<config::EvaluateConfig>(&command))
        return evaluate->run.run.stall_timeout;
    return config::RunOptions{}.stall_timeout;
}

StartWatch::StartWatch(double stall_seconds) {
    const double seconds = std::min(stalls_to_start * stall_seconds, max_seconds);
    observer_ = std::thread([has_started = has_started_.get_future(), seconds] {
        const auto state = has_started.wait_for(std::chrono::duration<double>(seconds));
        if (state == std::future_status::timeout) leave(seconds);
    });
}

StartWatch::~StartWatch() {
    has_started_.set_value();
    observer_.join();
}

Failure failure_of(const std::exception_ptr& error, std::string_view without_memory) {
    try {
        std::rethrow_exception(error);
    } catch (const Error& known) {
        return from(known);
    } catch (const std::bad_alloc&) {
        return {ExitCode::resource, cat("the machine has no memory left; ", without_memory)};
    } catch (const std::exception& unknown) {
        return {ExitCode::bug, cat(unknown.what(), request)};
    } catch (...) {
        return {ExitCode::bug, cat("an error without words", request)};
    }
}

std::string block(const Failure& failure, const std::string& place) {
    return cat("trireme: ", place, place.empty() ? "" : ": ", printable_lines(failure.message), "\n");
}

}  // namespace trireme::app
