// Executes programs abstractly, with a clock. Defines what each instruction waits for, and which buffers the
// instruction frees.
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
// messages run concurrently. A message starts when both its send and its receive have started, and takes the
// time StageCost::send. It never arrives before the previous message of its channel.
class AbstractMachine {
public:
    using SpanSink = std::function<void(int team, const Span& span)>;

    // All arguments are kept by reference. Messages must not cross: see MessageTable::find_crossed_message().
    // The programs must be complete, except that all instructions of some micro-batches may be missing.
    AbstractMachine(const std::vector<Program>& programs, const PipelineShape& shape,
                    const MessageTable& messages, const StepCosts& costs);

    // Executes all programs. Calls `report_span` for each compute instruction and STEP, in the order of each
    // program.
    void run(const SpanSink& report_span);

    std::size_t position(int team) const { return team_state(team).position; }  // of the next instruction
    bool is_finished(int team) const;
    double time(int team) const { return team_state(team).time; }
    // Per step: the time at which the team has done its STEPs and VALIDATEs; empty for forward-only programs.
    const std::vector<double>& step_ends(int team) const { return team_state(team).step_ends; }
    // Returns the joules of the team from the begin to `end`, which must not be before the time of the team.
    double compute_joules(int team, double end) const;
    // Returns what an unfinished team waits for, for example "waits for 1SEND_B0 of team 1".
    std::string describe_obstacle(int team) const;

private:
    struct StageCollectives {  // number of collectives that a team has done for a stage
        int stage = 0;
        std::size_t reduces = 0;
        std::size_t updates = 0;
        std::size_t validations = 0;
        std::size_t reached_steps = 0;  // STEPs reached; used if stages are updated independently
    };
    struct Team {
        std::size_t position = 0;
        double time = 0;
        std::vector<StageCollectives> stages = {};
        std::size_t reached_steps = 0;  // steps of which a STEP is reached; used if updates are not independent
        std::vector<double> step_ends = {};  // see step_ends()
        int mhz = 0;                         // see Span
        std::size_t clock_index = 0;         // see TeamClocks
        double clock_begin = 0;              // time from which this clock is in force
        double joules = 0;                   // of passes and STEPs, and of idle devices until clock_begin
    };
    // The gradient reductions for which an update or a validation of a step waits.
    struct Reduction {
        std::size_t pending_reduces = 0;  // REDUCEs that teams have not executed yet
        std::size_t pending_teams = 0;    // teams that have not reached their STEPs yet; unused by validations
        double end_time = 0;              // latest end of the reductions started so far
    };
    struct ChannelState {
        std::vector<double> send_times;  // all times in the order of the channel's messages
        std::vector<double> post_times;
        std::vector<double> arrival_times;
        std::size_t outputs = 0;          // results that took a buffer at the source
        std::size_t posted_receives = 0;  // receives that hold a buffer at the destination
    };
    enum class Obstacle { none, input, buffer_to_send, buffer_to_receive, gradients, teams };

    const Team& team_state(int team) const { return teams_[static_cast<std::size_t>(team)]; }
    const Instruction& next_instruction(int team) const;
    Obstacle find_obstacle(const Team& team, const Instruction& instruction) const;
    void advance(int team, const SpanSink& report_span);
    void execute(int team, const Instruction& instruction, const SpanSink& report_span);
    void compute(int team, const Instruction& instruction, const SpanSink& report_span);
    void send_or_receive(Team& team, const Instruction& instruction);
    void record_arrival(const MessageIndex& message, const Instruction& send);
    void reduce(int team, int stage);
    void set_clock(int team, int mhz);
    void validate(Team& team, const Instruction& instruction);
    void reach_step(Team& team, int stage);
    void make_all_runnable();
    void count_collectives(const PipelineShape& shape);  // sets Team::stages and the pending counts
    Obstacle find_collective_obstacle(const Team& team, const Instruction& instruction) const;
    std::vector<const Reduction*> list_needed_reductions(const Team& team, const Instruction& collective) const;
    const Reduction& find_reduction(int stage, std::size_t step) const;
    Reduction& find_reduction(int stage, std::size_t step);
    const StageCost& find_step_cost(int team, int stage, std::size_t step) const;
    const StageCost& find_cost(int team, const Instruction& instruction) const;

    const std::vector<Program>& programs_;
    const PipelineShape& shape_;
    const MessageTable& messages_;
    const StepCosts& costs_;
    std::size_t slots_;
    std::vector<Team> teams_;
    std::vector<ChannelState> channels_;
    std::vector<int> runnable_teams_;  // a stack of teams that may be able to continue
    std::size_t steps_;
    bool updates_stages_independently_;
    bool has_speculative_updates_;
    int tied_stage_;  // the stage that shares a tensor with stage 0; 0 if no stage does
    std::vector<Reduction>
        reductions_;  // index: step, or stage * steps_ + step if updates do not wait for all stages
    std::vector<Reduction> global_reductions_;  // per step, of all stages; validations wait for these
};

}  // namespace trireme::schedule
