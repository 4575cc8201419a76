// The program. The commands `train`, `evaluate`, `profile` and `doctor` join the MPI job in which they were
// started; all others never use MPI.
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

using Words = std::span<const char* const>;

void say(const Failure& failure, const std::string& place = "") {
    std::cout.flush();
    std::cerr << block(failure, place) << std::flush;
}

int finish(const Failure& failure) {
    say(failure);
    return static_cast<int>(failure.code);
}

// Returns the exit code of a command that has printed its result: `code`, or that of a failed write.
int finish_output(int code) {
    std::cout.flush();
    if (code != 0 || (std::cout.good() && std::ferror(stdout) == 0)) return code;
    errno = 0;
    std::fputc('\n', stdout);  // the stream keeps no errno, but another write fails for the same reason
    const int reason = errno;
    if (reason == EPIPE) return 128 + SIGPIPE;  // the reader has closed the pipe, which needs no message
    const std::string why = reason == 0 ? "" : cat(" (", std::strerror(reason), ")");
    return finish({ExitCode::resource, cat("standard output could not be written", why,
                                           "; free some space, or write to another file")});
}

void carry_out(const ShowText& command) { std::cout << command.text; }
void carry_out(const tools::PlanConfig& config) { show_plan(config, std::cout); }
void carry_out(tools::SimulateConfig config) {
    config.search_path = search_path();
    simulate(config);
}
void carry_out(const tools::PrepareConfig& config) { prepare(config, std::cout); }
void carry_out(const tools::ConvertConfig& config) { convert(config, std::cout); }
void carry_out(const InspectConfig& config) { tools::inspect(config.file, config.verify, std::cout); }
void carry_out(const ReportConfig& config) {
    report::write_report(config.run_directory, config.output);
    std::cout << "the report is " << config.output << '\n';
}
[[noreturn]] void refuse_alone() {
    throw BugError("a command of all ranks was started outside of an MPI session");
}
void carry_out(const TrainCommand&) { refuse_alone(); }
void carry_out(const config::EvaluateConfig&) { refuse_alone(); }
void carry_out(const ProfileCommand&) { refuse_alone(); }
void carry_out(const tools::DoctorConfig&) { refuse_alone(); }

// The command of this rank, or the error in its command line. The error is kept so that all ranks end together.
class ParsedLine {
public:
    explicit ParsedLine(Words words) {
        try {
            command_ = parse_command_line(words, TRIREME_MPI);
        } catch (...) {
            failure_ = std::current_exception();
        }
    }

    bool has_failed() const { return failure_ != nullptr; }
    double stall_seconds() const {
        return command_ ? app::stall_seconds(*command_) : device::Patience{}.stall_seconds;
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

// Returns empty facts for simulated ranks, which belong to no Slurm job even if the simulator runs in one.
Surroundings surroundings_of_ranks() {
    if (is_simulated) return {};
    return {.job = read_job(), .start = read_start(), .search_path = search_path()};
}

bool is_command(std::string_view name, Words words) { return !words.empty() && words.front() == name; }

// True if an MPI launcher has also started other ranks, which wait for this one.
bool is_one_of_several() {
    if (is_simulated) return false;
    const Start start = read_start();
    const bool can_meet = start.launcher != Launcher::srun || start.has_pmix || start.has_pmi;
    return start.processes > 1 && can_meet;
}

// True if standard output is the only result of a command. Training writes records, so it continues if its
// console is closed.
bool prints_result(Words words) {
    const bool dumps =
        std::ranges::any_of(words, [](std::string_view word) { return word == "--dump-config"; });
    return dumps || !is_command("train", words);
}

int run_alone(ParsedLine& line) {
    try {
        std::visit([](const auto& wanted) { carry_out(wanted); }, line.command());
    } catch (...) {
        return finish(failure_of(std::current_exception()));
    }
    return finish_output(static_cast<int>(ExitCode::done));
}

// The facts about a process that are read before it joins the others.
struct Arrival {
    Surroundings process;                    // read early, because MPI libraries change the environment
    device::StopSignals* signals = nullptr;  // set for `train`, which can resume later
};

ExitCode carry_out(TrainCommand& command, comm::Session& session, const Arrival& arrival) {
    if (!command.dump_config) {
        command.config.job = arrival.process.job;
        fit_to_ranks(command.config, session.size());
        const run::Ending ending = run::train(command.config, session, arrival.signals);
        return ending == run::Ending::done ? ExitCode::done : ExitCode::stopped;
    }
    if (session.rank() == 0) std::cout << command.config.resolved;
    return ExitCode::done;
}

ExitCode carry_out(config::EvaluateConfig& config, comm::Session& session, const Arrival& arrival) {
    config.run.job = arrival.process.job;
    run::evaluate(config, session);
    return ExitCode::done;
}

ExitCode carry_out(ProfileCommand& command, comm::Session& session, const Arrival& arrival) {
    command.run.job = arrival.process.job;
    measure(command, session, std::cout);
    return ExitCode::done;
}

// Runs the command on this rank. Simulated ranks share one command line, which need not be compared.
ExitCode take_part(ParsedLine& line, comm::Session& session, const Arrival& arrival) {
    if (!is_simulated) setup::agree_on_start(session, [&] { return start_facts(line.command()); });
    Command& wanted = line.command();
    if (auto* command = std::get_if<TrainCommand>(&wanted)) return carry_out(*command, session, arrival);
    if (auto* config = std::get_if<config::EvaluateConfig>(&wanted))
        return carry_out(*config, session, arrival);
    if (auto* command = std::get_if<ProfileCommand>(&wanted)) return carry_out(*command, session, arrival);
    return examine(std::get<tools::DoctorConfig>(wanted), arrival.process, session, std::cout);
}

// Ends this rank after a failure. All ranks usually find a ConfigError
// together; then rank 0 reports it and all leave in order. Any other error may
// have happened on this rank alone, which then reports it and aborts the job.
int leave(const Failure& failure, const comm::Session& session, rank::Departure& departure) {
    const int code = static_cast<int>(failure.code);
    const bool is_joint = failure.code == ExitCode::config && departure.is_joint();
    if (!is_joint) {
        say(failure, cat("rank ", session.rank(), " (", session.host(), ")"));
        session.abort(code);
    }
    if (session.rank() == 0) say(failure);
    return code;
}

int run_in_session(ParsedLine& line, comm::Session& session, const Arrival& arrival) {
    rank::Departure departure(session);
    try {
        return static_cast<int>(take_part(line, session, arrival));
    } catch (...) {
        constexpr std::string_view smaller =
            "use a smaller --batch or --max-length, more --microbatches, or fewer ranks on a node";
        return leave(failure_of(std::current_exception(), smaller), session, departure);
    }
}

// Returns the next moment, a multiple of 5 s, at which all ranks of a job leave; their clocks are assumed to
// agree. A launcher that sees one rank leave kills the others, and loses output that was written just before.
std::chrono::system_clock::time_point common_moment() {
    constexpr std::chrono::seconds between{5};
    constexpr std::chrono::seconds least{1};
    const auto soon = std::chrono::system_clock::now() + least;
    return soon + (between - soon.time_since_epoch() % between);
}

// Ends the process if MPI_Finalize hangs. All output is written then, and the other ranks hang as well.
[[noreturn]] void leave_without_mpi(int rank, const std::string& library, int code) {
    if (rank == 0) {
        std::cerr << "trireme: " << library
                  << " does not end, though all ranks are done; they leave without it, "
                  << "and nothing is lost (MPICH 4.0 may wait for ever where ranks speak by TCP)\n";
    }
    std::cout.flush();
    std::fflush(nullptr);
    std::this_thread::sleep_until(common_moment());
    std::_Exit(code);
}

int run(int argc, char** argv) {
    const Words words(argv + (argc > 0 ? 1 : 0), argv + argc);
    ParsedLine line(words);
    const bool joins = needs_session(words) || (line.has_failed() && is_one_of_several());
    if (!joins) return run_alone(line);
    std::signal(SIGPIPE, SIG_IGN);               // writes to a closed console fail without ending the ranks
    std::optional<device::StopSignals> signals;  // only for `train`, which can resume later
    if (is_command("train", words) && !is_simulated) signals.emplace();
    try {
        check_processor(build_facts());
        const Surroundings process = surroundings_of_ranks();
        if (is_command("doctor", words)) warn_of_no_meeting(process.start, std::cerr);
        std::optional<StartWatch> watch;
        if (!is_simulated) watch.emplace(line.stall_seconds());
        comm::Session session(argc, argv, line.stall_seconds());
        watch.reset();
        if (session.size() > 1) have_kernels_loaded_at_start();
        if (signals) signals->take_back();
        const int code =
            run_in_session(line, session, {.process = process, .signals = signals ? &*signals : nullptr});
        session.end([rank = session.rank(), library = session.library(), code] {
            leave_without_mpi(rank, library, code);
        });
        return prints_result(words) ? finish_output(code) : code;
    } catch (...) {  // errors outside of run_in_session(), such as those of MPI's start
        return finish(failure_of(std::current_exception()));
    }
}

}  // namespace
}  // namespace trireme::app

int main(int argc, char** argv) {
    std::signal(SIGXFSZ, SIG_IGN);                  // a write beyond the file size limit fails with an error
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // shows progress line by line, also in mpirun's pipe
    return trireme::app::run(argc, argv);
}
