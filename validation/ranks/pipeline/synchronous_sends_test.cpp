// The engine never hangs in a program that verify_programs() accepts, even if MPI does not buffer messages. In
// these tests, sends are synchronous: a send is complete only after its receive was posted. The profiling
// interface of MPI replaces MPI_Isend.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <functional>
#include <random>

#include "comm/mpi/mpi_communicator.hpp"
#include "ranks/pipeline/bench.hpp"
#include "trireme/schedule/check.hpp"
#include "trireme/schedule/lower.hpp"

namespace {

// Global, because the functions of the profiling interface have no state.
bool are_sends_synchronous = false;
int synchronous_sends = 0;  // number of calls

}  // namespace

extern "C" int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                         MPI_Request* request) {
    if (!are_sends_synchronous) return PMPI_Isend(buffer, count, type, peer, tag, comm, request);
    ++synchronous_sends;
    return PMPI_Issend(buffer, count, type, peer, tag, comm, request);
}

namespace trireme::pipeline {
namespace {

// All sends of a test are synchronous.
class SynchronousSends : public ::testing::Test {
protected:
    SynchronousSends() { are_sends_synchronous = true; }
    ~SynchronousSends() override { are_sends_synchronous = false; }
};

struct RandomTrial {
    Trial trial;
    std::string name;
    std::vector<schedule::Program> programs;  // with messages, for the slots of the trial's shape
};

// Draws pipelines of one-rank teams and their programs. All ranks draw the same, because the seed is fixed.
class TrialDraw {
public:
    explicit TrialDraw(int max_ranks) : max_ranks_(max_ranks) {}

    // The programs may have a fault.
    RandomTrial draw() {
        const bool has_envpipe = draw_from(0, 1) == 0;
        RandomTrial drawn;
        Trial& trial = drawn.trial;
        trial.shape = draw_from(0, 3) == 0 ? draw_grid() : draw_replicas();
        trial.shape.slots = draw_from(1, 3);
        trial.teams = make_teams(std::vector<int>(static_cast<std::size_t>(trial.shape.teams), 1));
        for (int m = 0; m < trial.shape.microbatches; ++m)
            trial.rows.push_back(static_cast<std::size_t>(draw_from(0, 6)));  // 0: no message is sent

        std::vector<int> forwards;  // per stage: extra ones of envpipe, or all before the first backward
        for (int stage = 0; stage < trial.shape.stages(); ++stage)
            forwards.push_back(has_envpipe ? draw_from(0, 3) : draw_from(1, trial.shape.microbatches));
        if (has_envpipe) {
            trial.schedule = schedule::require_schedule("envpipe");
            trial.shape.extra_forwards = forwards;
        } else if (draw_from(0, 1) == 0) {
            std::ranges::sort(forwards, std::greater{});  // otherwise most programs have a fault
        }
        drawn.programs =
            has_envpipe ? generate(trial.schedule, trial.shape) : alternate_after(forwards, trial.shape);
        drawn.programs = lower(drawn.programs, trial.shape);
        drawn.name = cat(trial.name(), has_envpipe ? ", extra forwards " : ", warm-ups ",
                         testing::PrintToString(forwards), ", slots ", trial.shape.slots);
        return drawn;
    }

private:
    int draw_from(int min, int max) { return std::uniform_int_distribution(min, max)(random_); }

    schedule::PipelineShape draw_grid() {
        const int pipe = draw_from(2, max_ranks_);
        return schedule::make_grid_shape(pipe, draw_from(1, max_ranks_ / pipe), 1, draw_from(1, 10));
    }

    // Uses all ranks. The stages may have equal numbers of replicas by chance.
    schedule::PipelineShape draw_replicas() {
        std::vector<int> replicas(static_cast<std::size_t>(draw_from(2, max_ranks_)), 1);
        const int stages = static_cast<int>(replicas.size());
        for (int rank = stages; rank < max_ranks_; ++rank)
            ++replicas[static_cast<std::size_t>(draw_from(0, stages - 1))];
        return schedule::make_uneven_shape(replicas, draw_from(1, 10));
    }

    // Returns programs without messages. In stage s, a team executes `warm_ups[s]` forwards before its first
    // backward, and then a backward after each forward.
    static std::vector<schedule::Program> alternate_after(const std::vector<int>& warm_ups,
                                                          const schedule::PipelineShape& shape) {
        std::vector<schedule::Program> programs(static_cast<std::size_t>(shape.teams));
        for (int stage = 0; stage < shape.stages(); ++stage) {
            std::vector<std::vector<int>> microbatches(programs.size());  // per team, those of the stage
            for (int m = 0; m < shape.microbatches; ++m)
                microbatches[static_cast<std::size_t>(shape.find_executor(stage, m))].push_back(m);
            const auto warm_up = static_cast<std::size_t>(warm_ups[static_cast<std::size_t>(stage)]);
            for (std::size_t team = 0; team < programs.size(); ++team) {
                const std::vector<int>& own = microbatches[team];
                for (std::size_t i = 0; i + 1 < own.size() + warm_up; ++i) {
                    if (i < own.size()) programs[team].push_back({schedule::Op::forward, stage, own[i]});
                    if (i + 1 >= warm_up)
                        programs[team].push_back({schedule::Op::backward, stage, own[i + 1 - warm_up]});
                }
            }
        }
        return programs;
    }

    int max_ranks_;
    std::mt19937 random_{11};
};

// Draws until 200 programs are accepted.
std::vector<RandomTrial> draw_proved_trials(int max_ranks) {
    TrialDraw draw(max_ranks);
    std::vector<RandomTrial> proved;
    while (proved.size() < 200) {
        RandomTrial drawn = draw.draw();
        if (verify_programs(drawn.programs, drawn.trial.shape).is_proved()) proved.push_back(std::move(drawn));
    }
    return proved;
}

// `bench` is for the trial. If the program hangs, the error of a wait ends the job.
void execute_with_synchronous_sends(const RandomTrial& drawn, const Bench& bench) {
    SCOPED_TRACE(drawn.name);
    const schedule::Program& program = drawn.programs[static_cast<std::size_t>(bench.team())];
    Engine engine = bench.engine(drawn.trial.shape);
    CountingWorker worker = bench.worker(drawn.trial.shape);

    synchronous_sends = 0;
    engine.execute(program, worker);

    worker.expect_all_done(program);
    EXPECT_EQ(synchronous_sends, std::ranges::count_if(program, [&](const schedule::Instruction& each) {
                  return is_send(each.op) && worker.count_rows(each.microbatch) > 0;
              }));
}

TEST_F(SynchronousSends, EndOnlyAfterTheReceiveIsPosted) {
    comm::MpiCommunicator group(MPI_COMM_WORLD, "test", {.stall_seconds = 20});
    std::array<std::int64_t, 1> number{7};
    const device::Tensor message{number.data(), device::DType::i64, 1, 1, 1};
    synchronous_sends = 0;

    if (group.rank() == 0) {
        std::vector<comm::Communicator::RequestId> pending{group.start_send(message, 1, 3)};
        for (int poll = 0; poll < 1000; ++poll) group.remove_done(pending);
        EXPECT_EQ(pending.size(), 1U);
        MPI_Barrier(MPI_COMM_WORLD);
        group.wait(pending);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        if (group.rank() == 1) group.wait(std::array{group.start_receive(message, 0, 3)});
    }

    EXPECT_EQ(synchronous_sends, group.rank() == 0 ? 1 : 0);
}

TEST_F(SynchronousSends, DoNotStallProvedPrograms) {
    const std::vector<RandomTrial> proved = draw_proved_trials(world_size());

    for (int ranks = 2; ranks <= world_size(); ++ranks) {
        Trial trial{.teams = make_teams(std::vector<int>(static_cast<std::size_t>(ranks), 1))};
        if (!Bench::is_needed(trial)) continue;
        const Bench bench(trial);  // used for many trials, because groups take long to create
        for (const RandomTrial& drawn : proved) {
            if (drawn.trial.ranks() != ranks) continue;
            trial = drawn.trial;  // the bench refers to `trial`
            execute_with_synchronous_sends(drawn, bench);
        }
    }
}

TEST_F(SynchronousSends, AreTestedWithUnevenReplicas) {
    if (world_size() < 3) GTEST_SKIP() << "uneven replicas need three ranks";
    const auto is_uneven = [](const RandomTrial& drawn) {
        const auto& holders = drawn.trial.shape.holders;
        return std::ranges::any_of(holders, [&](const auto& each) { return each.size() != holders[0].size(); });
    };

    EXPECT_GT(std::ranges::count_if(draw_proved_trials(world_size()), is_uneven), 50);
}

}  // namespace
}  // namespace trireme::pipeline
