// Ends a job that stands still, and says where every rank stands.
//
// A rank that has waited too long asks all others whether they move: waits that are still short, and
// computations, do. Each answers at once, while it waits or between two layers. Where all answer, and one
// moves, the rank waits on, and asks again after as long. Where none moves, or one does not answer, it sends
// its line to all; a rank that gets one sends its own. The lowest of those that have done so speaks for them,
// and takes all with it.
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
    double stall = 60;        // without progress
    double answer = 3;        // to hear from a rank that runs; where a stall is longer, at least half of one
    double turn = 5;          // of each rank that might speak before this one
    double end_of_job = 120;  // once another has spoken
};

// Made while all ranks are well; outlives every group that has its patience.
class Watchdog {
public:
    // Collective over all ranks. Does nothing in a simulation, which finds by itself that nobody can go on.
    Watchdog(const comm::Session& session, double stall_seconds);
    // Over a group of its own.
    Watchdog(std::unique_ptr<comm::Communicator> group, const std::string& host,
             const WatchdogSeconds& seconds);
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    // For the groups that this rank waits in; and who looks after messages meanwhile.
    device::Patience patience() const;
    comm::Postman& postman() { return postman_; }

    // What to say of this rank from now on: "stands at 2RECV_B0, instruction 7 of 20". Outlives the last wait.
    void ask(std::function<std::string()> position) { position_ = std::move(position); }

private:
    enum class Kind : std::int32_t { question, answer, line, speaking };

    struct Note {
        Kind kind = Kind::question;
        std::int32_t question = 0;     // its number, among the asking rank's
        std::int32_t moves = 0;        // of an answer
        std::array<char, 244> text{};  // of a line; a zero behind it
    };

    struct Dispatch {
        Note note;
        std::vector<comm::Communicator::Ticket> tickets;
    };

    struct Question {
        std::string stall;
        double seconds = 0;  // that this rank has run since it asked
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
    std::unique_ptr<comm::Communicator> group_;  // none: the time is simulated
    std::vector<std::string> hosts_;             // per rank
    std::vector<int> others_;
    std::function<std::string()> position_ = [] { return std::string("prepares"); };
    double last_look_ = 0;
    bool moves_ = true;
    int questions_ = 0;                 // posed so far
    std::optional<Question> question_;  // that waits for answers
    std::list<Dispatch> sent_;          // on their way
    std::map<int, std::string> lines_;  // of the ranks that have sent one, and this one's
    bool another_speaks_ = false;
};

// Returns how many seconds `rank` waits for others before it gives up. An idle rank never does: it waits for
// whole steps of other ranks.
double stall_limit(const plan::Plan& plan, int rank, double stall_timeout);

// Collective over `control`. Calls `read` on every rank, which may take much longer on one rank than on
// another: until all ranks have read, none of them gives up. Afterwards they give up after `stall_limit`
// seconds.
void read_together(comm::Communicator& control, double stall_limit, const std::function<void()>& read);

}  // namespace trireme::rank
