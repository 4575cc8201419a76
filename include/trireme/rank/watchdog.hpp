// Ends a job that makes no progress, and reports the position of every rank.
//
// A rank that has waited too long asks all others whether they make progress. A rank makes progress if it
// computes, or if its wait is still short. It answers at once, while it waits or between two layers. If all
// ranks answer and one of them makes progress, the asking rank continues to wait, and asks again after the same
// time. If no rank makes progress, or one does not answer, the asking rank sends its position to all. A rank
// that receives a position sends its own. The lowest of these ranks reports for all of them and ends the job.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "trireme/comm/postman.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme::rank {

struct WatchdogSeconds {
    double stall = 60;        // wait after which a rank asks the others
    double answer = 3;        // time limit of answers; the watchdog uses at least half of `stall`
    double turn = 5;          // wait per rank that may report before this one
    double end_of_job = 120;  // time limit for another rank that reports to end the job
};

// Must be constructed while all ranks are alive, and outlive every group that has its patience.
class Watchdog {
public:
    // Collective over all ranks. Does nothing in a simulation, which detects deadlocks itself.
    Watchdog(const comm::Session& session, double stall_seconds);
    // Collective over `group`, which serves nothing else.
    Watchdog(std::unique_ptr<comm::Communicator> group, const std::string& host,
             const WatchdogSeconds& seconds);
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    // The patience of all groups in which this rank waits.
    device::Patience patience() const;
    // Progresses messages between GPUs during waits.
    comm::Postman& postman() { return postman_; }

    // Sets the function that describes the position of this rank: "stands at 2RECV_B0, instruction 7 of 20". It
    // must stay valid until the last wait.
    void ask(std::function<std::string()> position) { position_ = std::move(position); }

private:
    enum class Kind : std::int32_t { question, answer, line, speaking };

    struct Note {
        Kind kind = Kind::question;
        std::int32_t question = 0;     // number of the question, counted by the asking rank
        std::int32_t moves = 0;        // in answers: 1 if the rank makes progress
        std::array<char, 244> text{};  // in lines: the position, null-terminated
    };

    struct Dispatch {
        Note note;
        std::vector<comm::Communicator::Ticket> tickets;
    };

    struct Question {
        std::string stall;
        double seconds = 0;  // time for which this rank has run since it asked
        std::set<int> answered = {};
        bool somebody_moves = false;
    };

    void look(double seconds_waited);
    void pose(const std::string& stall);
    void judge();
    [[noreturn]] void end();
    void send(const Note& note, const std::vector<int>& peers);
    void drop_sent();
    void listen(double seconds, std::size_t enough);
    void take_notes();
    void take(const Note& note, int sender);
    std::string block() const;

    WatchdogSeconds seconds_;
    comm::Postman postman_;
    device::Lookout lookout_{.look = [this](double waited) { look(waited); },
                             .tell = [this](const std::string& stall) { pose(stall); }};
    std::unique_ptr<comm::Communicator> group_;  // null if time is simulated
    std::vector<std::string> hosts_;             // per rank
    std::vector<int> others_;
    std::function<std::string()> position_ = [] { return std::string("prepares"); };
    double last_look_ = 0;
    bool moves_ = true;                 // this rank makes progress
    int questions_ = 0;                 // number of questions so far
    std::optional<Question> question_;  // the question that waits for answers
    std::list<Dispatch> sent_;          // notes with pending requests
    std::map<int, std::string> lines_;  // received positions by rank, and this rank's own
    bool another_speaks_ = false;       // another rank reports
};

// Returns how many seconds `rank` waits for other ranks before it gives up. This is infinite for an idle rank,
// which waits for whole steps of other ranks.
double stall_limit(const plan::Plan& plan, int rank, double stall_timeout);

// Collective over `control`. Calls `read` on every rank. Its duration may differ a lot between ranks, so no
// rank gives up before all have read. Afterwards ranks of `control` give up after `stall_limit` seconds.
void read_together(comm::Communicator& control, double stall_limit, const std::function<void()>& read);

}  // namespace trireme::rank
