// Ends a job that makes no progress, and reports the position of every rank.
//
// A rank that has waited for WatchdogSeconds::stall asks all other ranks whether they make progress. A rank
// makes progress if it computes, or if its current wait is shorter than `stall`. A rank answers questions while
// it waits and between two layers. If all ranks answer and at least one rank makes progress, the asking rank
// continues to wait, and asks again after another `stall` seconds. If no rank makes progress, or a rank does
// not answer, the asking rank sends its position to all ranks. A rank that receives a position sends its own
// position to all ranks. The lowest rank that has sent its position reports the positions of all ranks and ends
// the job.
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

#include "trireme/comm/progress_engine.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme::rank {

struct WatchdogSeconds {
    double stall = 60;  // duration of a wait after which a rank asks the others
    double answer = 3;  // how long a rank waits for answers and positions; at least half of `stall` is used
    double report_turn = 5;   // before a rank reports, it waits this long for each lower rank to report
    double end_of_job = 120;  // how long a rank waits until a reporting rank has ended the job
};

// Must be constructed while all ranks are alive, and outlive every group that has its wait policy.
class Watchdog {
public:
    // Collective over all ranks. Does nothing in a simulation, which detects deadlocks itself.
    Watchdog(const comm::Session& session, double stall_seconds);
    // Collective over `group`, which serves nothing else.
    Watchdog(std::unique_ptr<comm::Communicator> group, const std::string& host,
             const WatchdogSeconds& seconds);
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    // The wait policy of all groups in which this rank waits.
    device::WaitPolicy wait_policy() const;
    // Progresses messages between GPUs during waits.
    comm::ProgressEngine& progress_engine() { return progress_engine_; }

    // Sets the function that describes the position of this rank: "stands at 2RECV_B0, instruction 7 of 20". It
    // must stay valid until the last wait.
    void set_position_callback(std::function<std::string()> describe) {
        describe_position_ = std::move(describe);
    }

private:
    enum class MessageKind : std::int32_t { question, answer, position, report };

    struct Message {
        MessageKind kind = MessageKind::question;
        std::int32_t question = 0;        // number of the question, from 1, counted by the asking rank
        std::int32_t makes_progress = 0;  // in answers: 1 if the rank makes progress
        std::array<char, 244> text{};     // in positions: the description, null-terminated
    };

    struct SentMessage {
        Message message;
        std::vector<comm::Communicator::RequestId> ids;
    };

    struct Question {
        std::string stall;  // what this rank waits for
        // Seconds since the question was sent, except those in which this rank was not scheduled.
        double run_seconds = 0;
        std::set<int> answering_ranks = {};
        bool has_progressing_rank = false;  // an answering rank makes progress
    };

    void observe_wait(double seconds_waited);
    void ask_others(const std::string& stall);
    void judge_answers();
    [[noreturn]] void end_job();
    void send(const Message& message, const std::vector<int>& peers);
    void forget_completed_sends();
    void receive_positions(double seconds, std::size_t min_positions);
    void receive_messages();
    void handle(const Message& message, int sender);
    std::string describe_all_positions() const;

    WatchdogSeconds seconds_;
    comm::ProgressEngine progress_engine_;
    device::WaitObserver observer_{.on_poll = [this](double waited) { observe_wait(waited); },
                                   .on_stall = [this](const std::string& stall) { ask_others(stall); }};
    std::unique_ptr<comm::Communicator> group_;  // null if time is simulated
    std::vector<std::string> hosts_;             // per rank
    std::vector<int> other_ranks_;
    std::function<std::string()> describe_position_ = [] { return std::string("prepares"); };
    double last_observation_time_ = 0;
    bool makes_progress_ = true;            // this rank computes, or its wait is shorter than seconds_.stall
    int question_count_ = 0;                // number of questions that this rank has asked
    std::optional<Question> question_;      // the question that waits for answers
    std::list<SentMessage> sent_messages_;  // messages with pending send requests
    std::map<int, std::string> positions_;  // received positions by rank, and this rank's own
    bool another_rank_reports_ = false;
};

// Returns the seconds after which a wait of `rank` for other ranks counts as a stall. They are infinite for an
// idle rank, which waits for whole steps of other ranks.
double choose_stall_limit(const plan::Plan& plan, int rank, double stall_timeout);

// Collective over `control`. Calls `read` on every rank. The duration of `read` may differ a lot between ranks,
// so a rank waits for the others without a time limit. Afterwards waits in `control` count as stalls after
// `stall_limit` seconds.
void read_with_unlimited_wait(comm::Communicator& control, double stall_limit,
                              const std::function<void()>& read);

}  // namespace trireme::rank
