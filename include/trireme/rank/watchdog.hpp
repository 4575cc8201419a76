// Ends a job that makes no progress, and reports the position of every rank.
//
// A rank that has waited for WatchdogSeconds::stall asks all other ranks whether they make progress. A rank
// makes progress if it computes, or if its current wait is shorter than `stall`. A rank answers questions while
// it waits and between two layers. If all other ranks answer and at least one of them makes progress, the
// asking rank continues to wait, and asks again after another `stall` seconds. If none of the other ranks makes
// progress, or a rank does not answer in time, the asking rank sends its position to all ranks. A rank that
// receives a position sends its own position to all ranks. The lowest rank that has sent its position reports
// the positions of all ranks, and ends the job by throwing ResourceError.
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
    double stall = 60;  // duration of a wait after which a rank asks the other ranks
    double answer = 3;  // how long a rank waits for answers and positions; raised to `stall` / 2 if shorter
    // Before a rank reports, it waits this long for each lower rank that has sent its position.
    double report_turn = 5;
    double end_of_job = 120;  // how long a rank waits for the reporting rank to end the job
};

// A watchdog must be constructed while all ranks are alive, and must outlive every group that uses the
// watchdog's wait_policy().
class Watchdog {
public:
    // Collective over all ranks. Makes a watchdog for the ranks of `session`. In a simulation, which detects
    // deadlocks itself, the watchdog does nothing.
    Watchdog(const comm::Session& session, double stall_seconds);
    // Collective over `group`. Makes a watchdog that sends its messages in `group`, which must have no other
    // use. `host` is the name of this rank's node. If `group` is null, the watchdog does nothing.
    Watchdog(std::unique_ptr<comm::Communicator> group, const std::string& host,
             const WatchdogSeconds& seconds);
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    // Returns the wait policy for all groups in which this rank waits.
    device::WaitPolicy wait_policy() const;
    // Returns the engine that progresses messages between GPUs during waits.
    comm::ProgressEngine& progress_engine() { return progress_engine_; }

    // Sets the function that describes the position of this rank, for example "stands at 2RECV_B0, instruction
    // 7 of 20". The function must stay valid until this rank's last wait has ended.
    void set_position_callback(std::function<std::string()> describe) {
        describe_position_ = std::move(describe);
    }

private:
    enum class MessageKind : std::int32_t { question, answer, position, report };

    struct Message {
        MessageKind kind = MessageKind::question;
        std::int32_t question = 0;        // in questions and answers: the asking rank's question_count_
        std::int32_t makes_progress = 0;  // in answers: 1 if the rank makes progress
        std::array<char, 244> text{};     // in positions: the description, null-terminated
    };

    struct SentMessage {
        Message message;
        std::vector<comm::Communicator::RequestId> ids;  // pending send requests
    };

    struct Question {
        std::string stall;  // describes the wait, for example "waited 60 s for ..."
        // Seconds since the question was sent, except those in which this rank was not scheduled.
        double run_seconds = 0;
        std::set<int> answering_ranks = {};  // ranks that have answered the question
        bool has_progressing_rank = false;   // at least one of answering_ranks makes progress
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
    double last_observation_time_ = 0;      // by now_seconds()
    bool makes_progress_ = true;            // this rank computes, or has waited for less than seconds_.stall
    int question_count_ = 0;                // number of questions that this rank has asked
    std::optional<Question> question_;      // this rank's question that waits for answers
    std::list<SentMessage> sent_messages_;  // messages with pending send requests
    std::map<int, std::string> positions_;  // by rank: received positions, and this rank's own
    bool another_rank_reports_ = false;
};

// Returns the seconds after which a wait of `rank` for other ranks counts as a stall. The result is
// `stall_timeout`, but infinity for an idle rank, because an idle rank waits for whole steps of other ranks.
double choose_stall_limit(const plan::Plan& plan, int rank, double stall_timeout);

// Collective over `control`. Calls `read` on every rank. The duration of `read` may differ a lot between ranks,
// so a rank waits for the other ranks without a time limit. Afterwards, waits in `control` count as stalls
// after `stall_limit` seconds. If `read` throws ConfigError on some ranks, every rank throws the error of the
// lowest of these ranks.
void read_with_unlimited_wait(comm::Communicator& control, double stall_limit,
                              const std::function<void()>& read);

}  // namespace trireme::rank
