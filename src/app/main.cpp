// The program. The commands `train`, `evaluate`, `profile` and `doctor` join the MPI job in which they were
// started. The other commands never use MPI.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <string_view>
#include <thread>

#include "app/command.hpp"
#include "app/program.hpp"
#include "app/tool_commands.hpp"
#include "trireme/rank/departure.hpp"
#include "trireme/report/report.hpp"
#include "trireme/run/train.hpp"
#include "trireme/tools/prepare.hpp"
#include "trireme/tools/stored_files.hpp"

namespace trireme::app {
namespace {

using Arguments = std::span<const char* const>;

void print_failure(const Failure& failure, const std::string& process = "") {
    std::cout.flush();
    std::cerr << format_failure(failure, process) << std::flush;
}

int fail(const Failure& failure) {
    print_failure(failure);
    return static_cast<int>(failure.code);
}

// Flushes standard output after a command has printed its result. Returns `code`, or the exit code of the
// failure if standard output could not be written.
int finish_output(int code) {
    std::cout.flush();
    if (code != 0 || (std::cout.good() && std::ferror(stdout) == 0)) return code;
    errno = 0;
    std::fputc('\n', stdout);  // the stream does not keep errno, but another write fails for the same reason
    const int reason = errno;
    if (reason == EPIPE) return 128 + SIGPIPE;  // the reader has closed the pipe, which needs no message
    const std::string reason_text = reason == 0 ? "" : cat(" (", std::strerror(reason), ")");
    return fail({ExitCode::resource, cat("standard output could not be written", reason_text,
                                         "; free some space, or write to another file")});
}

void run_command(const ShowText& command) { std::cout << command.text; }
void run_command(const tools::PlanConfig& config) { show_plan(config, std::cout); }
void run_command(tools::SimulateConfig config) {
    config.search_path = read_search_path();
    simulate(config);
}
void run_command(const tools::PrepareConfig& config) { prepare(config, std::cout); }
void run_command(const tools::ConvertConfig& config) { convert(config, std::cout); }
void run_command(const InspectConfig& config) { tools::inspect(config.file, config.verify, std::cout); }
void run_command(const ReportConfig& config) {
    report::write_report(config.run_directory, config.output);
    std::cout << "the report is " << config.output << '\n';
}
[[noreturn]] void throw_needs_session() {
    throw BugError("a command that needs an MPI session was started without one");
}
void run_command(const TrainCommand&) { throw_needs_session(); }
void run_command(const config::EvaluateConfig&) { throw_needs_session(); }
void run_command(const ProfileCommand&) { throw_needs_session(); }
void run_command(const tools::DoctorConfig&) { throw_needs_session(); }

// The parsed command line of this rank, or the error in it. The constructor does not throw the error;
// command() does, so that all ranks can join the MPI job first and then end together.
class ParsedCommandLine {
public:
    explicit ParsedCommandLine(Arguments arguments) {
        try {
            command_ = parse_command_line(arguments, TRIREME_MPI);
        } catch (...) {
            failure_ = std::current_exception();
        }
    }

    bool has_failed() const { return failure_ != nullptr; }
    double find_stall_seconds() const {
        return command_ ? app::find_stall_seconds(*command_) : device::WaitPolicy{}.stall_seconds;
    }
    Command& command() {
        if (failure_) std::rethrow_exception(failure_);
        return *command_;
    }

private:
    std::optional<Command> command_;
    std::exception_ptr failure_;
};

constexpr bool is_simulated = std::string_view(TRIREME_MPI) == "smpi";

// Reads the facts about this process from the environment. They are empty for simulated ranks, which belong to
// no Slurm job even if the simulator runs in one.
EnvironmentFacts read_environment() {
    if (is_simulated) return {};
    return {.job = read_job(), .start = read_start(), .search_path = read_search_path()};
}

bool is_command(std::string_view name, Arguments arguments) {
    return !arguments.empty() && arguments.front() == name;
}

// Returns true if an MPI launcher has also started other ranks, and if all these ranks can find each other. The
// other ranks then wait for this rank.
bool is_one_of_several_ranks() {
    if (is_simulated) return false;
    const ProcessStart start = read_start();
    // If srun offers neither PMIx nor PMI, its processes cannot find each other.
    const bool can_join = start.launcher != Launcher::srun || start.has_pmix || start.has_pmi;
    return start.process_count > 1 && can_join;
}

// Returns true if standard output is the only result of a command. Training also writes records, so it
// continues if standard output is closed.
bool prints_result(Arguments arguments) {
    const bool has_dump_config =
        std::ranges::any_of(arguments, [](std::string_view word) { return word == "--dump-config"; });
    return has_dump_config || !is_command("train", arguments);
}

int run_without_session(ParsedCommandLine& line) {
    try {
        std::visit([](const auto& parsed_command) { run_command(parsed_command); }, line.command());
    } catch (...) {
        return fail(describe_failure(std::current_exception()));
    }
    return finish_output(static_cast<int>(ExitCode::done));
}

// The state that a rank prepares before it joins the MPI job.
struct ProcessFacts {
    EnvironmentFacts process;  // read before MPI starts, because MPI libraries change the environment
    // Catches signals that ask `train` to stop with a checkpoint. Null in simulations and for other commands.
    device::StopSignals* signals = nullptr;
};

ExitCode run_command(TrainCommand& command, comm::Session& session, const ProcessFacts& process_facts) {
    if (!command.dump_config) {
        command.config.job = process_facts.process.job;
        set_rank_defaults(command.config, session.size());
        const run::Ending ending = run::train(command.config, session, process_facts.signals);
        return ending == run::Ending::done ? ExitCode::done : ExitCode::stopped;
    }
    if (session.rank() == 0) std::cout << command.config.ini_text;
    return ExitCode::done;
}

ExitCode run_command(config::EvaluateConfig& config, comm::Session& session,
                     const ProcessFacts& process_facts) {
    config.run.job = process_facts.process.job;
    run::evaluate(config, session);
    return ExitCode::done;
}

ExitCode run_command(ProfileCommand& command, comm::Session& session, const ProcessFacts& process_facts) {
    command.run.job = process_facts.process.job;
    run_profile(command, session, std::cout);
    return ExitCode::done;
}

// Runs the command on this rank. First compares the command lines of all ranks, except in a simulation, where
// ranks share one command line.
ExitCode run_on_rank(ParsedCommandLine& line, comm::Session& session, const ProcessFacts& process_facts) {
    if (!is_simulated) setup::agree_on_start(session, [&] { return list_common_settings(line.command()); });
    Command& parsed_command = line.command();
    if (auto* command = std::get_if<TrainCommand>(&parsed_command))
        return run_command(*command, session, process_facts);
    if (auto* config = std::get_if<config::EvaluateConfig>(&parsed_command))
        return run_command(*config, session, process_facts);
    if (auto* command = std::get_if<ProfileCommand>(&parsed_command))
        return run_command(*command, session, process_facts);
    return run_doctor(std::get<tools::DoctorConfig>(parsed_command), process_facts.process, session, std::cout);
}

// Ends this rank after a failure. If all ranks have ended with a ConfigError, rank 0 reports it, and all ranks
// finalize MPI and exit. Otherwise the other ranks may still wait for this rank, which therefore reports its
// failure and aborts the job.
int end_rank_after_failure(const Failure& failure, const comm::Session& session, rank::Departure& departure) {
    const int code = static_cast<int>(failure.code);
    const bool is_joint_exit = failure.code == ExitCode::config && departure.confirm_joint_exit();
    if (!is_joint_exit) {
        print_failure(failure, cat("rank ", session.rank(), " (", session.host(), ")"));
        session.abort(code);
    }
    if (session.rank() == 0) print_failure(failure);
    return code;
}

int run_in_session(ParsedCommandLine& line, comm::Session& session, const ProcessFacts& process_facts) {
    rank::Departure departure(session);
    try {
        return static_cast<int>(run_on_rank(line, session, process_facts));
    } catch (...) {
        constexpr std::string_view memory_advice =
            "use a smaller --batch or --max-length, more --microbatches, or fewer ranks on a node";
        return end_rank_after_failure(describe_failure(std::current_exception(), memory_advice), session,
                                      departure);
    }
}

// Returns the time, a multiple of 5 s, at which all ranks of a job exit. The clocks of the ranks are assumed to
// agree. If a launcher sees one rank exit earlier than the others, the launcher kills the other ranks, and
// loses output that was written just before.
std::chrono::system_clock::time_point find_next_exit_time() {
    constexpr std::chrono::seconds interval{5};
    constexpr std::chrono::seconds min_delay{1};
    const auto earliest_time = std::chrono::system_clock::now() + min_delay;
    return earliest_time + (interval - earliest_time.time_since_epoch() % interval);
}

// Ends the process; called when MPI_Finalize hangs. At this time all output has been written, and the other
// ranks hang as well.
[[noreturn]] void exit_without_mpi(int rank, const std::string& library, int code) {
    if (rank == 0) {
        std::cerr << "trireme: MPI_Finalize of " << library
                  << " does not return, although all ranks are done; the ranks exit without it, and no result "
                     "is lost (MPICH 4.0 may wait forever in MPI_Finalize if ranks communicate over TCP)\n";
    }
    std::cout.flush();
    std::fflush(nullptr);
    std::this_thread::sleep_until(find_next_exit_time());
    std::_Exit(code);
}

int run(int argc, char** argv) {
    const Arguments arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    ParsedCommandLine line(arguments);
    const bool joins_job = needs_session(arguments) || (line.has_failed() && is_one_of_several_ranks());
    if (!joins_job) return run_without_session(line);
    std::signal(SIGPIPE, SIG_IGN);               // writes to a closed console fail without ending the ranks
    std::optional<device::StopSignals> signals;  // only for `train`, which can resume later
    if (is_command("train", arguments) && !is_simulated) signals.emplace();
    try {
        check_processor(make_build_facts());
        const EnvironmentFacts process = read_environment();
        if (is_command("doctor", arguments)) warn_without_pmi(process.start, std::cerr);
        std::optional<MpiStartWatch> watch;
        if (!is_simulated) watch.emplace(line.find_stall_seconds());
        comm::Session session(argc, argv, line.find_stall_seconds());
        watch.reset();
        if (session.size() > 1) load_kernels_eagerly();
        if (signals) signals->install_handlers();
        const int code =
            run_in_session(line, session, {.process = process, .signals = signals ? &*signals : nullptr});
        session.finalize([rank = session.rank(), library = session.library(), code] {
            exit_without_mpi(rank, library, code);
        });
        return prints_result(arguments) ? finish_output(code) : code;
    } catch (...) {  // errors outside of run_in_session(), such as those of MPI's start
        return fail(describe_failure(std::current_exception()));
    }
}

}  // namespace
}  // namespace trireme::app

int main(int argc, char** argv) {
    std::signal(SIGXFSZ, SIG_IGN);                  // a write beyond the file size limit fails with an error
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // shows progress line by line, also in mpirun's pipe
    return trireme::app::run(argc, argv);
}
