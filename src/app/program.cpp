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

std::vector<std::string> split_words(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    return words;
}

// Returns the features of the first processor, "fpu vme ... avx2"; empty if unknown.
std::string read_processor_features() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        const bool lists_features = line.rfind("flags", 0) == 0 || line.rfind("Features", 0) == 0;
        if (lists_features && line.find(':') != std::string::npos) return line.substr(line.find(':') + 1);
    }
    return "";
}

std::string find_host_name() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "this host";
}

struct NamedOptions {
    const char* command;
    std::vector<OptionGroup> groups;  // refer to the parsed command, which must outlive them
};

NamedOptions list_options(TrainCommand& command) { return {"train", make_train_options(command.config)}; }
NamedOptions list_options(config::EvaluateConfig& config) {
    return {"evaluate", make_evaluate_options(config)};
}
NamedOptions list_options(ProfileCommand& command) { return {"profile", make_profile_options(command)}; }
NamedOptions list_options(tools::DoctorConfig& config) { return {"doctor", make_doctor_options(config)}; }
template <class OtherCommand>
NamedOptions list_options(OtherCommand&) {
    throw BugError("a command of a single process has no settings to compare");
}

bool may_differ_between_ranks(const std::string& option) { return option == "run-dir" || option == "threads"; }

constexpr double stalls_before_exit = 10;  // in units of --stall-timeout
constexpr double max_seconds = 1e6;        // keeps the deadline within the range of the clock

[[noreturn]] void report_and_exit(double seconds) {
    const Failure failure{ExitCode::resource,
                          cat("MPI has not started within ", seconds,
                              " s (ten times --stall-timeout), probably because a process of this job has not "
                              "called MPI_Init; start every rank with the same command line")};
    std::cerr << format_failure(failure) << std::flush;
    std::_Exit(static_cast<int>(failure.code));
}

constexpr const char* bug_report_request =
    "\n  this is a bug in trireme; please report it with the command line";

Failure make_failure(const Error& error) {
    if (error.code() != ExitCode::bug) return {error.code(), error.what()};
    const SourcePosition where = error.where();
    return {error.code(), cat(error.what(), " (", where.file, ":", where.line, ")", bug_report_request)};
}

// Makes each line printable, because file names and messages of libraries may contain any bytes. Lines of
// Trireme's own messages are far shorter than `longest_line`.
std::string make_lines_printable(std::string_view message) {
    constexpr std::size_t longest_line = 4000;
    std::string lines;
    for (std::size_t end = message.find('\n'); end != std::string_view::npos; end = message.find('\n')) {
        lines += make_printable(message.substr(0, end), longest_line) + '\n';
        message.remove_prefix(end + 1);
    }
    return lines + make_printable(message, longest_line);
}

}  // namespace

std::vector<std::string> list_missing_features(const std::string& required, const std::string& available) {
    const std::vector<std::string> available_features = split_words(available);
    std::vector<std::string> missing;
    for (const std::string& feature : split_words(required)) {
        if (std::find(available_features.begin(), available_features.end(), feature) ==
            available_features.end())
            missing.push_back(feature);
    }
    return missing;
}

void check_features(const BuildFacts& build, const std::string& available, const std::string& host) {
    if (available.empty()) return;
    std::string missing_features;
    for (const std::string& feature : list_missing_features(build.cpu_features, available)) {
        missing_features += cat(missing_features.empty() ? "" : ", ", feature);
    }
    if (missing_features.empty()) return;
    throw ResourceError(
        cat(host, " lacks ", missing_features, ", which this build of Trireme uses (-march=", build.cpu,
            "); build with -DTRIREME_CPU_ARCH=x86-64-v3, or with the name of the oldest processor "
            "that will run Trireme"));
}

void check_processor(const BuildFacts& build) {
    check_features(build, read_processor_features(), find_host_name());
}

void warn_without_pmi(const ProcessStart& start, std::ostream& out) {
    const bool can_join = start.launcher != Launcher::srun || start.has_pmix || start.has_pmi;
    if (can_join || start.process_index > 0 || start.process_count == 1) return;
    out << "trireme: srun offers its " << start.process_count
        << " processes neither PMIx nor PMI; if MPI does not start now, use srun --mpi=pmix (srun --mpi=list "
           "prints the available types)\n"
        << std::flush;
}

std::vector<comm::CommonSetting> list_common_settings(Command command) {
    const NamedOptions options =
        std::visit([](auto& parsed_command) { return list_options(parsed_command); }, command);
    std::vector<comm::CommonSetting> settings{{"the command", options.command}};
    if (!std::holds_alternative<tools::DoctorConfig>(command))
        settings.push_back({"the source version", describe_version()});
    for (const OptionGroup& group : options.groups) {
        for (const Option& option : group.options) {
            if (may_differ_between_ranks(option.description.name)) continue;
            settings.push_back({cat("--", option.description.name), option.get()});
        }
    }
    if (const auto* train = std::get_if<TrainCommand>(&command))
        settings.push_back({"--dump-config", train->dump_config ? "on" : "off"});
    return settings;
}

double find_stall_seconds(const Command& command) {
    if (const auto* train = std::get_if<TrainCommand>(&command)) return train->config.run.stall_timeout;
    if (const auto* evaluate = std::get_if<config::EvaluateConfig>(&command))
        return evaluate->run.run.stall_timeout;
    return config::RunOptions{}.stall_timeout;
}

MpiStartWatch::MpiStartWatch(double stall_seconds) {
    const double seconds = std::min(stalls_before_exit * stall_seconds, max_seconds);
    observer_ = std::thread([mpi_start = mpi_start_.get_future(), seconds] {
        const auto state = mpi_start.wait_for(std::chrono::duration<double>(seconds));
        if (state == std::future_status::timeout) report_and_exit(seconds);
    });
}

MpiStartWatch::~MpiStartWatch() {
    mpi_start_.set_value();
    observer_.join();
}

Failure describe_failure(const std::exception_ptr& error, std::string_view memory_advice) {
    try {
        std::rethrow_exception(error);
    } catch (const Error& own_error) {
        return make_failure(own_error);
    } catch (const std::bad_alloc&) {
        return {ExitCode::resource, cat("the machine has no memory left; ", memory_advice)};
    } catch (const std::exception& foreign_error) {
        return {ExitCode::bug, cat(foreign_error.what(), bug_report_request)};
    } catch (...) {
        return {ExitCode::bug, cat("an exception of an unknown type", bug_report_request)};
    }
}

std::string format_failure(const Failure& failure, const std::string& process) {
    return cat("trireme: ", process, process.empty() ? "" : ": ", make_lines_printable(failure.message), "\n");
}

}  // namespace trireme::app
