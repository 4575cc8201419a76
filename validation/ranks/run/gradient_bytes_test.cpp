// Replicas send the gradients of trained parameters only. The bytes are counted below the program, in MPI.
#include <mpi.h>

#include <array>
#include <numeric>

#include "ranks/run/started_run.hpp"
#include "trireme/comm/collectives.hpp"

namespace {

// Messages that are not larger carry records and sums of single numbers.
constexpr std::size_t max_small_bytes = 8192;
std::size_t large_bytes = 0;  // global, because the functions of the profiling interface have no state

}  // namespace

extern "C" int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int destination, int tag,
                         MPI_Comm comm, MPI_Request* request) {
    int size = 0;
    PMPI_Type_size(type, &size);
    const auto bytes = static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
    if (bytes > max_small_bytes) large_bytes += bytes;
    return PMPI_Isend(buffer, count, type, destination, tag, comm, request);
}

namespace trireme::run {
namespace {

class GradientBytes : public validation::StartedRun {
protected:
    GradientBytes() : StartedRun(std::vector<std::size_t>(40, 12)) {
        config_.model.width = 64;
        config_.model.heads = 4;
        config_.model.mlp_width = 256;
        config_.model.tied = false;
        config_.layout.data = session_.size();
    }

    std::size_t count_trained_elements(int frozen) const {
        const model::ModelConfig& model = setup_->job.model;
        const std::size_t block = 12 * model.width * model.width + 13 * model.width;
        const std::size_t embedding = (model.vocabulary + model.positions) * model.width;
        const std::size_t head = (model.vocabulary + 2) * model.width;  // with the final norm
        return (2 - static_cast<std::size_t>(frozen)) * block + head + (frozen == 0 ? embedding : 0);
    }

    void expect_trained_bytes(int frozen, bool shards_optimizer) {
        config_.layout.frozen = frozen;
        config_.layout.shard_optimizer = shards_optimizer;
        start();
        trainer_->begin_segment(0, 2);
        trainer_->step();
        large_bytes = 0;
        const std::vector<records::StepOutcome> outcomes = trainer_->step();
        const std::vector<double> of_ranks =
            all_gather(*control_, std::array{static_cast<double>(large_bytes)});
        const double sent_bytes = std::accumulate(of_ranks.begin(), of_ranks.end(), 0.0);

        const std::size_t others = static_cast<std::size_t>(session_.size()) - 1;
        const std::size_t bytes = count_trained_elements(frozen) * sizeof(float) * others;
        // Gradients are scattered. Then either updated values are gathered, or the sums of gradients.
        EXPECT_EQ(sent_bytes, static_cast<double>(2 * bytes));
        ASSERT_EQ(outcomes.size(), 1U);
        EXPECT_EQ(outcomes[0].work.reduced_bytes, static_cast<double>(shards_optimizer ? bytes : 2 * bytes));
    }
};

TEST_F(GradientBytes, AreThoseOfTrainedParameters) {
    if (session_.size() > 4) GTEST_SKIP() << "for up to 4 ranks";
    for (const int frozen : {0, 1, 2}) {
        for (const bool shards_optimizer : {true, false}) {
            SCOPED_TRACE(testing::Message() << frozen << " frozen, sharded: " << shards_optimizer);
            expect_trained_bytes(frozen, shards_optimizer);
        }
    }
}

}  // namespace
}  // namespace trireme::run
