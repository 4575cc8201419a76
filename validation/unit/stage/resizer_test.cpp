// Tests which channels a rank skips from period to period.
#include "trireme/stage/resizer.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "error_message.hpp"
#include "trireme/stage/stage.hpp"
#include "unit/stage/small_models.hpp"
#include "unit/stage/stage_numbers.hpp"

namespace trireme::stage {
namespace {

using List = std::vector<std::int32_t>;

model::ModelConfig one_block(model::Family family) {
    model::ModelConfig config = config_of({"model", family, Task::language});
    config.layers = 1;
    config.width = 32;
    config.heads = 4;
    config.mlp_width = 48;
    return config;
}

List range(std::int32_t begin, std::int32_t end, std::int32_t step = 1) {
    List list;
    for (std::int32_t c = begin; c < end; c += step) list.push_back(c);
    return list;
}

List joined(List list, const List& more) {
    list.insert(list.end(), more.begin(), more.end());
    return list;
}

// A rank with one block, whose weights are zero at first and are then moved by the test.
class Rank {
public:
    explicit Rank(model::Family family, device::MemorySpace memory_space = device::MemorySpace::host)
        : stage_(one_block(family), {.layers = {1, 2}}),
          parameters_(stage_.parameters(), device::DType::f64, memory_space),
          memory_space_(memory_space) {}

    Resizer resizer(ResizerConfig config = {}) {
        config.dtype = device::DType::f64;
        config.max_rows = 10;
        config.memory_space = memory_space_;
        return Resizer(stream_, config, stage_.projections(), parameters_);
    }

    // Adds `by` to one weight of a channel, in matrix `part` of the projection.
    void move(std::size_t projection, std::int32_t channel, double by, std::size_t part = 0) {
        const model::ProjectionShape shape = stage_.projections()[projection];
        const auto weight = parameters_.values()[parameters_.find_index(shape.weights[part].name)].as<double>();
        const auto c = static_cast<std::size_t>(channel);
        (shape.axes == kernels::WeightAxes::in_out ? weight(c, 1) : weight(1, c)) += by;
    }
    void move(std::size_t projection, const List& channels, double by) {
        for (const std::int32_t c : channels) move(projection, c, by);
    }
    // Moves everything, differently in every period.
    void move_all(int period) {
        for (std::size_t p = 0; p < 4; ++p) {
            for (std::int32_t c = 0; c < 32; ++c) move(p, c, (7 * c + 5 * period) % 32);
        }
    }

    std::size_t find_number(std::size_t projection) const {
        return parameters_.find_index(stage_.projections()[projection].weights.front().name);
    }
    std::vector<model::ProjectionShape> projections() const { return stage_.projections(); }
    device::Stream& stream() { return stream_; }

private:
    Stage stage_;
    LocalParameters parameters_;
    device::MemorySpace memory_space_;
    device::Stream stream_{memory_space_ == device::MemorySpace::ghost
                               ? device::Stream{device::GhostStream{}}
                               : device::Stream{device::ReferenceStream{}}};
};

constexpr std::size_t attention_out = 1;  // 32 channels, 32 outputs
const model::ProjectionId attention_out_place{.block = 0, .matmul = layout::Matmul::attention_out};

TEST(Resizer, KeepsAllChannelsInTheFirstPeriodAndAtRatioZero) {
    Rank rank(model::Family::gpt2);
    Resizer resizer = rank.resizer();

    EXPECT_EQ(resizer.kept_channels(attention_out), range(0, 32));
    EXPECT_EQ(resizer.resizing().at(attention_out_place), nullptr);
    EXPECT_TRUE(resizer.list_skipped_channels().empty());
    resizer.begin_period(rank.stream(), 0.5);
    EXPECT_EQ(resizer.resizing().at(attention_out_place)->channels, resizer.kept_channels(attention_out));
    resizer.begin_period(rank.stream(), 0);
    EXPECT_EQ(resizer.resizing().at(attention_out_place), nullptr);
    EXPECT_EQ(resizer.kept_channels(attention_out), range(0, 32));
}

// Scores by hand, with 16 of 32 channels kept:
//   channel c moves by c + 1           1 2 .. 32              kept 16 .. 31
//   kept ones move by 1/2, others not  1 2 .. 16 1/2 .. 1/2   kept 0 .. 15: all skipped ones are back
//   even kept ones move by -100        100 0 100 0 .. 1/2 ..  kept 0 2 .. 14 and, of equals, 16 .. 23
TEST(Resizer, KeepsTheChannelsComputedByHandByPriority) {
    for (const model::Family family : {model::Family::gpt2, model::Family::llama}) {
        Rank rank(family);
        Resizer resizer = rank.resizer();

        for (std::int32_t c = 0; c < 32; ++c) rank.move(attention_out, c, c + 1);
        resizer.begin_period(rank.stream(), 0.5);
        EXPECT_EQ(resizer.kept_channels(attention_out), range(16, 32));

        rank.move(attention_out, range(16, 32), 0.5);
        resizer.begin_period(rank.stream(), 0.5);
        EXPECT_EQ(resizer.kept_channels(attention_out), range(0, 16));

        rank.move(attention_out, range(0, 16, 2), -100);
        resizer.begin_period(rank.stream(), 0.5);
        EXPECT_EQ(resizer.kept_channels(attention_out), joined(range(0, 16, 2), range(16, 24)));
    }
}

// Queries, keys and values of a llama read the same channels, so that their movements are added up.
TEST(Resizer, SumsTheMovementOfMatricesThatReadAChannel) {
    Rank rank(model::Family::llama);
    Resizer resizer = rank.resizer();
    for (std::int32_t c = 0; c < 16; ++c) rank.move(0, 2 * c, 3, 0);
    for (std::int32_t c = 0; c < 16; ++c) {
        rank.move(0, 2 * c + 1, -2, 1);
        rank.move(0, 2 * c + 1, 2, 2);
    }

    resizer.begin_period(rank.stream(), 0.5);

    EXPECT_EQ(resizer.kept_channels(0), range(1, 32, 2));
}

TEST(Resizer, KeepsConsecutiveChannelsByWindow) {
    Rank rank(model::Family::gpt2);
    Resizer resizer = rank.resizer({.policy = model::ChannelPolicy::window});
    rank.move(attention_out, range(9, 25), 1);

    resizer.begin_period(rank.stream(), 0.5);

    EXPECT_EQ(resizer.kept_channels(attention_out), range(9, 25));
}

TEST(Resizer, DrawsOtherRandomChannelsPerPeriodProjectionAndKey) {
    Rank rank(model::Family::gpt2);
    Resizer resizer = rank.resizer({.policy = model::ChannelPolicy::random, .key = RandomKey{1}});
    Resizer same = rank.resizer({.policy = model::ChannelPolicy::random, .key = RandomKey{1}});
    Resizer other = rank.resizer({.policy = model::ChannelPolicy::random, .key = RandomKey{2}});
    for (Resizer* each : {&resizer, &same, &other}) each->begin_period(rank.stream(), 0.5);
    const List first = resizer.kept_channels(attention_out);

    EXPECT_EQ(first.size(), 16);
    EXPECT_EQ(same.kept_channels(attention_out), first);
    EXPECT_NE(other.kept_channels(attention_out), first);
    EXPECT_NE(resizer.kept_channels(0), first);
    resizer.begin_period(rank.stream(), 0.5);
    EXPECT_NE(resizer.kept_channels(attention_out), first);
}

TEST(Resizer, SkipsNoMoreThanItsLimit) {
    Rank rank(model::Family::gpt2);
    Resizer resizer = rank.resizer({.max_skipped_fraction = 0.25});

    resizer.begin_period(rank.stream(), 0.9);

    EXPECT_EQ(resizer.kept_channels(attention_out).size(), 24);
    EXPECT_EQ(resizer.kept_channels(3).size(), 40);  // a quarter of 48 fits one tile
}

// The projections have 3072, 1024, 1536 and 1536 multiplications per row, and a quarter of them, 1792, is to be
// skipped. Factors of 1/2, 0, 1 and 1 give 0.78, 0, 1.56 and 2.33 tiles. Whole tiles of 768, 256, 384 and 256
// make 768, 0, 384 and 3 * 256.
TEST(Resizer, SkipsFewerChannelsOfProjectionsThatVaryMore) {
    Rank rank(model::Family::gpt2);
    Resizer resizer = rank.resizer({.max_skipped_fraction = 0.75, .adapts_to_variation = true});
    rank.move(attention_out, range(0, 32), 10);
    rank.move(0, range(0, 32), 5);

    resizer.begin_period(rank.stream(), 0.25);

    std::vector<std::size_t> kept;
    for (std::size_t p = 0; p < 4; ++p) kept.push_back(resizer.kept_channels(p).size());
    EXPECT_EQ(kept, (std::vector<std::size_t>{24, 32, 24, 24}));
}

TEST(Resizer, ListsSkippedChannelsForTheOptimizer) {
    for (const model::Family family : {model::Family::gpt2, model::Family::llama}) {
        Rank rank(family);
        Resizer resizer = rank.resizer();
        rank.move(attention_out, range(0, 32, 2), 1);

        resizer.begin_period(rank.stream(), 0.5);

        const optim::SkippedChannelMap skipped = resizer.list_skipped_channels();
        EXPECT_EQ(skipped.size(), family == model::Family::gpt2 ? 4 : 7);
        const optim::SkippedInputChannels& channels = skipped.at(rank.find_number(attention_out));
        EXPECT_EQ(channels.channels, range(1, 32, 2));
        EXPECT_EQ(channels.axes,
                  family == model::Family::gpt2 ? kernels::WeightAxes::in_out : kernels::WeightAxes::out_in);
    }
}

// A resizer resumes in the middle of a period and knows what has moved since it began; a new one does not.
TEST(Resizer, ResumesFromASavedState) {
    for (const model::ChannelPolicy policy :
         {model::ChannelPolicy::priority, model::ChannelPolicy::random, model::ChannelPolicy::window}) {
        Rank rank(model::Family::gpt2);
        const ResizerConfig config{.policy = policy, .filling = model::Filling::same, .key = RandomKey{1}};
        Resizer first = rank.resizer(config);
        for (int period = 1; period < 3; ++period) {
            rank.move_all(period);
            first.begin_period(rank.stream(), 0.5);
        }
        first.resizing().at(attention_out_place)->last_rows = 7;
        first.resizing().at(attention_out_place)->last_input_gradient.as<double>()(3, 5) = 2;
        rank.move(attention_out, range(20, 32), 100);

        Resizer second = rank.resizer(config), fresh = rank.resizer(config);
        const model::ResizingState from = first.state();
        model::ResizingState to = from;
        to.memory = second.state().memory;
        ASSERT_EQ(to.memory.size(), from.memory.size());
        for (std::size_t m = 0; m < to.memory.size(); ++m) {
            ASSERT_EQ(to.memory[m].bytes(), from.memory[m].bytes());
            std::memcpy(to.memory[m].data, from.memory[m].data, from.memory[m].bytes());
        }
        second.restore(to);

        EXPECT_EQ(second.kept_channels(), first.kept_channels());
        EXPECT_EQ(second.resizing().at(attention_out_place)->channels, first.kept_channels(attention_out));
        EXPECT_EQ(second.resizing().at(attention_out_place)->last_rows, 7);
        EXPECT_EQ(second.resizing().at(attention_out_place)->last_input_gradient.as<double>()(3, 5), 2);
        rank.move(attention_out, range(0, 9), 50);
        for (Resizer* each : {&first, &second, &fresh}) each->begin_period(rank.stream(), 0.5);
        EXPECT_EQ(second.kept_channels(), first.kept_channels());
        EXPECT_NE(fresh.kept_channels(), first.kept_channels());
    }
}

// It holds a copy of the weights and one number per channel. A filling remembers gradients like the weights',
// and the inputs of 10 rows.
TEST(Resizer, HoldsACopyOfTheWeightsAndTheMemoryOfItsFilling) {
    const std::size_t weights = 32 * 96 + 32 * 32 + 32 * 48 + 48 * 32;
    Rank rank(model::Family::gpt2), ghost(model::Family::gpt2, device::MemorySpace::ghost);

    EXPECT_EQ(rank.resizer().bytes(), 8 * (weights + 48));
    EXPECT_EQ(rank.resizer({.filling = model::Filling::same}).bytes(),
              8 * (2 * weights + 48 + 10 * (32 + 32 + 32 + 48)));
    EXPECT_EQ(ghost.resizer({.filling = model::Filling::same}).bytes(),
              rank.resizer({.filling = model::Filling::same}).bytes());
}

TEST(Resizer, SkipsTheSameNumberOfChannelsForAGhost) {
    Rank ghost(model::Family::gpt2, device::MemorySpace::ghost);
    Resizer resizer = ghost.resizer({.filling = model::Filling::same});

    resizer.begin_period(ghost.stream(), 0.5);

    EXPECT_EQ(resizer.kept_channels(attention_out), range(0, 16));
    EXPECT_EQ(resizer.kept_channels(3).size(), 24);
}

}  // namespace
}  // namespace trireme::stage
