#include "ranks/gpu_comm/gpu_group.hpp"
#include "trireme/base/random.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme {
namespace {

// Returns a number that every rank can compute for any other rank.
float number(int rank, std::size_t element) {
    const RandomKey key = RandomKey{5}.then(static_cast<std::uint64_t>(rank));
    return static_cast<float>(to_unit_interval(random_block(key, element)[0]) - 0.5);
}

std::vector<float> numbers(int rank, std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = number(rank, i);
    return values;
}

class GpuCollectives : public GpuGroups {
protected:
    // Returns the sum in rank order, which results must equal exactly.
    float sum_of_all(std::size_t element) const {
        float sum = 0;
        for (int rank = 0; rank < group_->size(); ++rank) sum += number(rank, element);
        return sum;
    }

    // Returns uneven ranges of rows per rank. Rank 1 has none.
    std::vector<layout::Range> uneven_ranges() const {
        std::vector<layout::Range> ranges;
        std::size_t begin = 0;
        for (std::size_t rank = 0; rank < static_cast<std::size_t>(group_->size()); ++rank) {
            ranges.push_back({begin, rank == 1 ? 0 : rank + 2});
            begin = ranges.back().end();
        }
        return ranges;
    }
};

TEST_P(GpuCollectives, AddInRankOrder) {
    for (const std::size_t elements : {1U, 7U, 1000U, 200'003U}) {
        OnGpu<float> own(numbers(group_->rank(), elements));
        device::Arena scratch("scratch", count_all_reduce_scratch_bytes(*group_, own.tensor()),
                              device::MemorySpace::gpu);

        all_reduce(*group_, own.tensor(), scratch);

        const std::vector<float>& values = own.values();
        for (std::size_t i = 0; i < elements; ++i) ASSERT_EQ(values[i], sum_of_all(i)) << "element " << i;
    }
}

TEST_P(GpuCollectives, AddRowsOnTheirOwners) {
    constexpr std::size_t columns = 700;
    const std::vector<layout::Range> ranges = uneven_ranges();
    const layout::Range mine = ranges[static_cast<std::size_t>(group_->rank())];
    const std::size_t rows = ranges.back().end();
    OnGpu<float> own(numbers(group_->rank(), rows * columns));
    device::Tensor matrix = own.tensor();
    matrix.rows = rows;
    matrix.columns = matrix.stride = columns;
    device::Arena scratch("scratch", std::size_t{8} << 20, device::MemorySpace::gpu);

    reduce_scatter_rows(*group_, matrix, ranges, scratch);

    const std::vector<float>& values = own.values();
    for (std::size_t i = 0; i < values.size(); ++i) {
        const bool is_mine = i / columns >= mine.begin && i / columns < mine.end();
        ASSERT_EQ(values[i], is_mine ? sum_of_all(i) : number(group_->rank(), i)) << "element " << i;
    }
}

TEST_P(GpuCollectives, GatherTheRowsOfAllRanks) {
    constexpr std::size_t columns = 700;
    const std::vector<layout::Range> ranges = uneven_ranges();
    const layout::Range mine = ranges[static_cast<std::size_t>(group_->rank())];
    std::vector<float> filled(ranges.back().end() * columns, -1);
    for (std::size_t i = mine.begin * columns; i < mine.end() * columns; ++i) filled[i] = static_cast<float>(i);
    OnGpu<float> own(filled);
    device::Tensor matrix = own.tensor();
    matrix.rows = ranges.back().end();
    matrix.columns = matrix.stride = columns;

    all_gather_rows(*group_, matrix, ranges);

    const std::vector<float>& values = own.values();
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<float>(i));
}

INSTANTIATE_TEST_SUITE_P(Transports, GpuCollectives, ::testing::Values(Way::staged, Way::nccl), way_of);

}  // namespace
}  // namespace trireme
