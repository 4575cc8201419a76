// EnvPipe (Choi et al., USENIX ATC 2023) and its fork KISTI-UltraScaleAI-EnvPipe publish orders of blocking
// sends and receives, based on the TrainSchedule of DeepSpeed. These tests generate the orders and execute
// them. They show why schedule `envpipe` uses neither order.

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace trireme::schedule {
namespace {

// A pass never blocks. A blocking send is a `post` and a `wait`. An isend is a `post` alone, because the fork
// never waits for it.
enum class PublishedOp { pass, post, wait, receive };

struct PublishedCommand {
    PublishedOp op;
    char pass;  // F: a forward, or its activations for the next stage; B: a backward, or its gradients
    int microbatch;
};

using PublishedProgram = std::vector<PublishedCommand>;
constexpr std::size_t published_unbounded = std::numeric_limits<std::size_t>::max();

// Messages in flight, with `buffers` message buffers per directed channel. A send without buffers is a
// rendezvous.
struct PublishedChannels {
    std::size_t buffers;
    std::map<std::pair<int, char>, std::deque<int>> in_flight = {};  // per sender and pass: micro-batches

    // Returns false if the command has to wait. A receive never accepts a message of another micro-batch.
    bool execute(int stage, const PublishedCommand& command) {
        const auto [op, pass, microbatch] = command;
        if (op == PublishedOp::pass) return true;
        const int neighbor = pass == 'F' ? stage - 1 : stage + 1;
        std::deque<int>& messages = in_flight[{op == PublishedOp::receive ? neighbor : stage, pass}];
        if (op == PublishedOp::wait) return messages.size() <= buffers;
        if (op == PublishedOp::post) messages.push_back(microbatch);
        if (op != PublishedOp::receive) return true;
        if (messages.empty() || messages.front() != microbatch) return false;
        messages.pop_front();
        return true;
    }
};

// Executes the programs, one per stage, until no stage can advance. Returns true if all have ended.
bool published_programs_end(const std::vector<PublishedProgram>& programs, std::size_t buffers) {
    PublishedChannels channels{buffers};
    std::vector<std::size_t> counters(programs.size(), 0);
    while (true) {
        bool has_advanced = false;
        bool have_ended = true;
        for (std::size_t stage = 0; stage < programs.size(); ++stage) {
            const PublishedProgram& program = programs[stage];
            std::size_t& next = counters[stage];
            for (; next < program.size() && channels.execute(static_cast<int>(stage), program[next]); ++next)
                has_advanced = true;
            have_ended = have_ended && next == program.size();
        }
        if (!has_advanced) return have_ended;
    }
}

struct PublishedPipe {
    int microbatches;
    std::vector<int> extra_forwards;  // per stage: forwards of the warm-up beyond those of 1F1B

    int stages() const { return static_cast<int>(extra_forwards.size()); }
    int extra(int stage) const { return extra_forwards[static_cast<std::size_t>(stage)]; }
    bool has(int microbatch) const { return 0 <= microbatch && microbatch < microbatches; }
    bool is_last(int stage) const { return stage == stages() - 1; }

    int count_steps() const {
        const int max_extra = *std::max_element(extra_forwards.begin(), extra_forwards.end());
        return 2 * (microbatches + stages() - 1 + max_extra);
    }

    std::string text() const {
        return std::to_string(microbatches) + " micro-batches, extra forwards " +
               testing::PrintToString(extra_forwards);
    }
};

// In DeepSpeed's grid of steps and stages, the cells of a stage are alternately for a forward and for a
// backward.
bool is_published_forward(int stage, int step) { return (step - stage) % 2 == 0; }

// Returns the micro-batch of a cell. The cell is empty if the pipe does not have the micro-batch.
int find_published_microbatch(const PublishedPipe& pipe, int stage, int step) {
    if (is_published_forward(stage, step)) return (step - stage) / 2;
    return (step + stage + 1) / 2 - pipe.stages() - pipe.extra(stage);
}

struct PublishedRules {
    bool puts_gradients_first = false;  // a cell exchanges a gradient before an activation
    bool posts_activations = false;     // by isend, if may_send_activation() permits it
};

constexpr PublishedRules published_original{};
constexpr PublishedRules published_fork_1f1b{.puts_gradients_first = true};
constexpr PublishedRules published_fork{.puts_gradients_first = true, .posts_activations = true};

class PublishedGenerator {
public:
    PublishedGenerator(const PublishedPipe& pipe, int stage, const PublishedRules& rules)
        : pipe_(pipe), stage_(stage), rules_(rules) {}

    PublishedProgram make_program() {
        for (int step = 0; step < pipe_.count_steps(); ++step) {
            const int microbatch = find_published_microbatch(pipe_, stage_, step);
            if (is_published_forward(stage_, step)) add_forward_cell(microbatch);
            if (!is_published_forward(stage_, step)) add_backward_cell(step, microbatch);
            previous_ = microbatch;
        }
        return program_;
    }

private:
    void add_forward_cell(int microbatch) {
        if (rules_.puts_gradients_first) send_previous_gradient();
        if (pipe_.has(microbatch) && stage_ > 0) program_.push_back({PublishedOp::receive, 'F', microbatch});
        if (!rules_.puts_gradients_first) send_previous_gradient();
        if (!pipe_.has(microbatch)) return;
        program_.push_back({PublishedOp::pass, 'F', microbatch});
        if (!pipe_.is_last(stage_)) unsent_.push_back(microbatch);
    }

    void add_backward_cell(int step, int microbatch) {
        const bool has_gradient = pipe_.has(microbatch) && !pipe_.is_last(stage_);
        if (!rules_.puts_gradients_first) send_oldest_activation();
        if (has_gradient) program_.push_back({PublishedOp::receive, 'B', microbatch});
        if (rules_.puts_gradients_first && may_send_activation(step, has_gradient)) send_oldest_activation();
        if (pipe_.has(microbatch)) program_.push_back({PublishedOp::pass, 'B', microbatch});
    }

    // The fork withholds an activation unless the cell receives a gradient, or the next stage has not reached
    // its first backward one step earlier.
    bool may_send_activation(int step, bool has_gradient) const {
        if (!rules_.posts_activations || has_gradient || pipe_.is_last(stage_)) return true;
        return find_published_microbatch(pipe_, stage_ + 1, step - 1) < 0;
    }

    void send_previous_gradient() {
        if (stage_ == 0 || !pipe_.has(previous_)) return;
        program_.push_back({PublishedOp::post, 'B', previous_});
        program_.push_back({PublishedOp::wait, 'B', previous_});
    }

    void send_oldest_activation() {
        if (unsent_.empty()) return;
        program_.push_back({PublishedOp::post, 'F', unsent_.front()});
        if (!rules_.posts_activations) program_.push_back({PublishedOp::wait, 'F', unsent_.front()});
        unsent_.pop_front();
    }

    const PublishedPipe& pipe_;
    int stage_;
    PublishedRules rules_;
    int previous_ = -1;            // micro-batch of the preceding cell
    std::deque<int> unsent_ = {};  // micro-batches of activations, the oldest first
    PublishedProgram program_ = {};
};

std::vector<PublishedProgram> make_published_programs(const PublishedPipe& pipe, const PublishedRules& rules) {
    std::vector<PublishedProgram> programs;
    programs.reserve(pipe.extra_forwards.size());
    for (int stage = 0; stage < pipe.stages(); ++stage)
        programs.push_back(PublishedGenerator(pipe, stage, rules).make_program());
    return programs;
}

bool published_order_ends(const PublishedPipe& pipe, const PublishedRules& rules, std::size_t buffers) {
    return published_programs_end(make_published_programs(pipe, rules), buffers);
}

std::string describe_published_program(const PublishedProgram& program) {
    const std::vector<std::string> marks = {" ", " post-", " wait-", " get-"};
    std::string text;
    for (const auto& [op, pass, microbatch] : program)
        text += marks[static_cast<std::size_t>(op)] + pass + std::to_string(microbatch);
    return text;
}

// True if EnvPipe lowers the extra forwards of the next stage. It permits them to rise after a stage whose
// warm-up has all micro-batches.
bool rises_against_published_rule(const PublishedPipe& pipe, int stage) {
    if (pipe.is_last(stage) || pipe.extra(stage) >= pipe.extra(stage + 1)) return false;
    return pipe.extra(stage) + pipe.stages() - stage != pipe.microbatches;
}

// Returns the extra forwards that EnvPipe chooses if a backward takes 1, 1.5, 2, 2.5 or 3 times as long as a
// forward and memory permits 0, 1, 2, 4 or 8 extra forwards, for S to S + 15 micro-batches on S stages.
std::vector<PublishedPipe> list_published_choices(int stages) {
    std::vector<PublishedPipe> pipes;
    for (int choice = 0; choice < 16 * 5 * 5; ++choice) {
        const int microbatches = stages + choice / 25;
        const int twice_ratio = 2 + choice / 5 % 5;
        const int limit = std::vector<int>{0, 1, 2, 4, 8}[static_cast<std::size_t>(choice % 5)];
        PublishedPipe& pipe = pipes.emplace_back(PublishedPipe{microbatches, {}});
        for (int later = stages - 1; later > 0; --later)
            pipe.extra_forwards.push_back(std::min({twice_ratio * later / 2, limit, microbatches - later - 1}));
        pipe.extra_forwards.push_back(0);
        for (int stage = 0; stage < stages; ++stage) {
            if (!rises_against_published_rule(pipe, stage)) continue;
            pipe.extra_forwards[static_cast<std::size_t>(stage) + 1] = pipe.extra(stage);
        }
    }
    return pipes;
}

// Calls `check` for every number of extra forwards from 0 to 4 per stage, with 2 to 5 stages and 1 to 10
// micro-batches. A warm-up has at most all micro-batches, and the last stage has no extra forwards.
void check_published_pipes(const std::function<void(const PublishedPipe&)>& check) {
    const std::function<void(PublishedPipe, int)> extend = [&](PublishedPipe pipe, int later) {
        pipe.extra_forwards.push_back(0);
        if (later == 0) return check(pipe);
        const int limit = std::clamp(pipe.microbatches - later - 1, 0, 4);
        for (; pipe.extra_forwards.back() <= limit; ++pipe.extra_forwards.back()) extend(pipe, later - 1);
    };
    for (int later = 1; later < 5; ++later)
        for (int microbatches = 1; microbatches <= 10; ++microbatches) extend({microbatches, {}}, later);
}

TEST(PublishedEnvPipe, HangsIfTwoStagesSendToEachOther) {
    const PublishedPipe pipe{3, {1, 0}};
    const std::vector<PublishedProgram> original = make_published_programs(pipe, published_original);

    EXPECT_EQ(describe_published_program(original[0]),
              " F0 post-F0 wait-F0 F1 post-F1 wait-F1 F2 post-F2 wait-F2 get-B0 B0 get-B1 B1 get-B2 B2");
    EXPECT_EQ(describe_published_program(original[1]),
              " get-F0 F0 B0 get-F1 post-B0 wait-B0 F1 B1 get-F2 post-B1 wait-B1 F2 B2 post-B2 wait-B2");
    EXPECT_EQ(describe_published_program(make_published_programs(pipe, published_fork)[0]),
              " F0 post-F0 F1 F2 get-B0 post-F1 B0 get-B1 post-F2 B1 get-B2 B2");
    EXPECT_FALSE(published_programs_end(original, 0));  // at wait-F2 and wait-B0
    EXPECT_TRUE(published_programs_end(original, 1));
}

TEST(PublishedEnvPipe, CompletesOneForwardOneBackwardWithRendezvous) {
    for (int stages = 2; stages <= 8; ++stages) {
        for (const int microbatches : {1, 2, 4, 8, 16}) {
            const PublishedPipe pipe{microbatches, std::vector<int>(static_cast<std::size_t>(stages), 0)};
            EXPECT_TRUE(published_order_ends(pipe, published_original, 0)) << pipe.text();
            EXPECT_TRUE(published_order_ends(pipe, published_fork_1f1b, 0)) << pipe.text();
        }
    }
}

TEST(PublishedEnvPipe, HangsWithRendezvousForMostExtraForwardsItChooses) {
    int choices = 0;
    int completed = 0;
    for (int stages = 2; stages <= 8; ++stages) {
        for (const PublishedPipe& pipe : list_published_choices(stages)) {
            const auto programs = make_published_programs(pipe, published_original);
            ++choices;
            if (published_programs_end(programs, 0)) ++completed;
            EXPECT_TRUE(published_programs_end(programs, published_unbounded)) << pipe.text();
        }
    }

    EXPECT_EQ(choices, 2800);
    EXPECT_EQ(completed, 580);
    EXPECT_FALSE(published_order_ends({8, {3, 2, 1, 0}}, published_original, 0));
    EXPECT_TRUE(published_order_ends({8, {3, 2, 1, 0}}, published_fork, 0));
}

TEST(PublishedEnvPipe, NeedsABufferPerTwoExtraForwardsThatTheNextStageLacks) {
    check_published_pipes([](const PublishedPipe& pipe) {
        const auto programs = make_published_programs(pipe, published_original);
        bool rises = false;
        int fall = 0;
        for (int stage = 0; stage < pipe.stages() - 1; ++stage) {
            rises = rises || rises_against_published_rule(pipe, stage);
            fall = std::max(fall, pipe.extra(stage) - pipe.extra(stage + 1));
        }
        for (const int buffers : {0, 1, 2}) {
            const bool completes = published_programs_end(programs, static_cast<std::size_t>(buffers));
            EXPECT_EQ(completes, !rises && fall <= 2 * buffers) << pipe.text() << ", buffers " << buffers;
        }
        EXPECT_EQ(published_programs_end(programs, published_unbounded), !rises) << pipe.text();
    });
}

TEST(PublishedEnvPipe, CompletesInTheOrderOfTheForkExactlyIfExtraForwardsNeverRise) {
    check_published_pipes([](const PublishedPipe& pipe) {
        const auto programs = make_published_programs(pipe, published_fork);
        const bool never_rises = std::is_sorted(pipe.extra_forwards.rbegin(), pipe.extra_forwards.rend());
        EXPECT_EQ(published_programs_end(programs, 0), never_rises) << pipe.text();
        EXPECT_EQ(published_programs_end(programs, published_unbounded), never_rises) << pipe.text();
    });
}

}  // namespace
}  // namespace trireme::schedule
