// Executes programs abstractly, with a clock: defines what each instruction waits for, and what it frees.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "schedule/check/message_table.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::schedule {

// Executes all programs, each as far as possible. The instructions of a team run one after the other, and
// messages run concurrently. A message arrives after it was sent, its receive was posted and the cost of
// sending has passed, and never before the previous message of its channel.
class AbstractMachine {
public:
    using SpanSink = std::function<void(int team, const Span& span)>;

    // All arguments are kept by reference. The programs must be complete, and their messages must not cross.
    // `costs` has one entry per stage.
    AbstractMachine(const std::vector<Program>& programs, const PipelineShape& shape,
                    const MessageTable& messages, const std::vector<StageCost>& costs,
                    const TeamFactors& factors);
    AbstractMachine(const std::vector<Program>& programs, const PipelineShape& shape,
                    const MessageTable& messages, const std::vector<StageCost>& costs,
                    TeamFactors&& factors) = delete;

    // Executes all programs. `sink` receives compute instructions and STEPs, in order per team.
    void run(const SpanSink& sink);

    std::size_t position(int team) const { return team_at(team).position; }  // of its next instruction
    bool is_finished(int team) const;
    double clock(int team) const { return team_at(team).clock; }
    std::string obstacle(int team) const;  // of an unfinished team: "waits for 1SEND_B0 of team 1"

private:
    struct Collectives {  // numbers done by a team for a stage
        int stage = 0;
        std::size_t reduces = 0;
        std::size_t updates = 0;
        std::size_t validations = 0;
        std::size_t steps_come_to = 0;  // STEPs reached, if stages are updated alone
    };
    struct Team {
        std::size_t position = 0;
        double clock = 0;
        std::vector<Collectives> stages = {};
        std::size_t steps_come_to = 0;  // steps whose STEPs it reached, if its stages are updated together
    };
    // A gradient reduction that an update or a validation waits for.
    struct Sum {
        std::size_t reduces_to_come = 0;
        std::size_t teams_to_come = 0;  // teams yet to reach a STEP that waits for it; unused by validations
        double done = 0;                // end of the reductions known so far
    };
    struct ChannelState {
        std::vector<double> sent;  // times in the order of the channel, as below
        std::vector<double> posted;
        std::vector<double> arrived;
        std::size_t made = 0;    // results that took a buffer at the source
        std::size_t unread = 0;  // receives that hold a buffer at the destination
    };
    enum class Obstacle { none, input, buffer_to_send, buffer_to_receive, gradients, teams };

    const Team& team_at(int team) const { return teams_[static_cast<std::size_t>(team)]; }
    const Instruction& next(int team) const;
    Obstacle obstacle_of(const Team& team, const Instruction& instruction) const;
    void go_on(int team, const SpanSink& sink);
    void execute(int team, const Instruction& instruction, const SpanSink& sink);
    void compute(int team, const Instruction& instruction, const SpanSink& sink);
    void send_or_receive(Team& team, const Instruction& instruction);
    void arrive(const MessageIndex& message, int sender);
    void reduce(Team& team, int stage);
    void validate(Team& team, const Instruction& instruction);
    void come_to_step(Team& team, int stage);
    void wake_all();
    void expect_collectives(const PipelineShape& shape);
    Obstacle obstacle_of_collective(const Team& team, const Instruction& instruction) const;
    std::vector<const Sum*> needed_by(const Team& team, const Instruction& collective) const;
    const Sum& sum_of(int stage, std::size_t step) const;
    Sum& sum_of(int stage, std::size_t step);
    double cost_of(int team, const Instruction& instruction) const;

    const std::vector<Program>& programs_;
    const MessageTable& messages_;
    const std::vector<StageCost>& costs_;
    const TeamFactors& factors_;
    std::size_t slots_;
    std::vector<Team> teams_;
    std::vector<ChannelState> channels_;
    std::vector<int> woken_;  // teams that may be able to continue
    std::size_t steps_;
    bool updates_alone_;
    bool validates_;
    int tied_to_first_;       // a stage that shares a tensor with the first one; 0 if none does
    std::vector<Sum> sums_;   // (step), or (stage, step) if updates do not wait for all stages
    std::vector<Sum> norms_;  // (step); validations wait for these
};

}  // namespace trireme::schedule
