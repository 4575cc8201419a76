// Every tensor whole on rank 0, from ranks that hold parts of it, whatever the layout.
#include "train/whole_tensor.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <memory>

#include "comm/mpi/mpi_communicator.hpp"
#include "train/planning.hpp"
#include "train/rank_memory.hpp"
#include "unit/model/small_parts.hpp"

namespace trireme {
namespace {

using validation::sharable;
using validation::specs_of;

constexpr std::uint64_t seed = 5;

// What a rank has by the plan, with first values.
std::unique_ptr<LocalStages> stages_of(const SizedPlan& sized, int rank) {
    const LocalWork work = work_of(sized, rank);
    if (work.team < 0) return nullptr;
    auto stages = std::make_unique<LocalStages>(work, nullptr, false, Place::memory);
    Stream stream{.backend = ReferenceStream{}};
    initialise(stream, stages->parameters().specs(), stages->parameters().values(), seed);
    return stages;
}

void expect_whole_on_the_first_rank(const Plan& plan, const ModelConfig& model) {
    MpiCommunicator control(MPI_COMM_WORLD, "control", {.stall_seconds = 20});
    const std::vector<BatchShape> none;
    const SizedPlan sized(model, plan, DType::f64, none);
    const GradientPlan gradients = gradient_plan(sized);
    const auto stages = stages_of(sized, control.rank());
    TensorCollector collector(gradients, DType::f64, stages ? &stages->parameters() : nullptr, control);
    const LocalParameters expected(specs_of(model), DType::f64, Place::memory);
    Stream stream{.backend = ReferenceStream{}};
    initialise(stream, expected.specs(), expected.values(), seed);

    for (const ParameterSpec& spec : expected.specs()) {
        const ConstTensor whole = collector.collect(spec);

        if (control.rank() != 0) {
            EXPECT_FALSE(whole.is_present());
            continue;
        }
        const ConstTensor values = expected.values()[expected.number_of(spec.name)];
        const double* const own = values.as<double>().data;
        ASSERT_EQ(whole.size(), values.size()) << spec.name;
        EXPECT_TRUE(std::equal(own, own + values.size(), whole.as<double>().data)) << spec.name;
    }
}

int ranks_of_job() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

TEST(TensorCollector, JoinsThePartsOfTensorRanks) {
    RunConfig config;
    config.layout.tensor = ranks_of_job();
    for (const Family family : {Family::gpt2, Family::llama}) {
        const ModelConfig model = sharable(family, Task::language);
        expect_whole_on_the_first_rank(plan_run(config, model, ranks_of_job()), model);
    }
}

TEST(TensorCollector, JoinsTheTensorsOfStages) {
    RunConfig config;
    config.layout.pipe = ranks_of_job();
    const ModelConfig model = sharable(Family::gpt2, Task::language);
    expect_whole_on_the_first_rank(plan_run(config, model, ranks_of_job()), model);
}

// Rank 0 is idle: it gets what it does not hold.
TEST(TensorCollector, NeedsNothingOfAnIdleRank) {
    Layout layout{.layers = 7, .stages = {{.layers = {0, 7}}}, .idle = {0}};
    ReplicaLayout& replica = layout.stages[0].replicas.emplace_back();
    for (int rank = 1; rank < ranks_of_job(); ++rank) {
        replica.ranks.push_back(rank);
        replica.shares.push_back(static_cast<std::size_t>(rank));
    }
    const ModelConfig model = sharable(Family::gpt2, Task::language);

    expect_whole_on_the_first_rank(make_plan({.layout = layout}), model);
}

}  // namespace
}  // namespace trireme
