#include "trireme/kernels/launch.hpp"

#include "oracle.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/kernels/attention.hpp"
#include "trireme/kernels/fill.hpp"
#include "trireme/kernels/linear.hpp"

namespace trireme::kernels {
namespace {

TEST(Launch, RunsOnTheBackendOfTheStream) {
    for (device::Stream stream :
         {device::Stream{device::ReferenceStream{}}, device::Stream{device::CpuStream{}}}) {
        Operands t;
        const Fill op{t.unwritten(2, 3), 1.5};

        launch(stream, op);

        EXPECT_EQ(values(op.output), std::vector<double>(6, 1.5));
    }
}

TEST(Launch, EntersCallsAndCostsIntoTheLedger) {
    Operands t;
    device::Stream stream{device::ReferenceStream{}};
    const Linear op{t.random(3, 4), t.random(4, 5), {}, t.unwritten(3, 5)};

    launch(stream, op);
    launch(stream, op);
    launch(stream, Fill{t.unwritten(2, 3), 1});

    ASSERT_EQ(stream.ledger.entries().size(), 2);
    const device::Ledger::Entry& linear = stream.ledger.entries()[0];
    EXPECT_EQ(linear.total_cost.kernel, "linear");
    EXPECT_EQ(linear.calls, 2);
    EXPECT_EQ(linear.total_cost.flops, 2 * op.cost().flops);
    EXPECT_EQ(linear.total_cost.bytes, 2 * op.cost().bytes);
    EXPECT_GE(linear.seconds, 0);
    EXPECT_EQ(stream.ledger.entries()[1].total_cost.kernel, "fill");
}

TEST(Launch, ChecksBeforeItRuns) {
    Operands t;
    device::Stream stream{device::ReferenceStream{}};
    const Linear op{t.random(3, 4), t.random(5, 4), {}, t.unwritten(3, 5)};

    EXPECT_THROW(launch(stream, op), BugError);
    EXPECT_TRUE(stream.ledger.entries().empty());
    EXPECT_TRUE(std::isnan(get(op.output, 0, 0)));
}

// A kernel that takes at least a known time.
struct Nap {
    static constexpr double seconds = 0.001;
    void check() const {}
    device::Cost cost() const { return {.kernel = "nap"}; }
    NamedTensors tensors() const { return {}; }
};
void run(device::ReferenceStream&, const Nap&) { device::busy_for(Nap::seconds); }
void run(device::CpuStream&, const Nap&) { device::busy_for(Nap::seconds); }
void run(device::CudaStream&, const Nap&) { device::busy_for(Nap::seconds); }

TEST(Launch, TakesLongerOnASlowStreamAndRecordsIt) {
    device::Stream stream{device::CpuStream{}};
    stream.slowness.set({.all = 4});
    const double begin = device::now_seconds();

    launch(stream, Nap{});
    stream.slowness.spend_owed_time();

    const double taken = device::now_seconds() - begin;
    EXPECT_GE(stream.ledger.seconds(), 4 * Nap::seconds);
    EXPECT_GE(taken, stream.ledger.seconds());
}

// A matmul that takes at least a known time.
struct SleepMatmul : Nap {
    device::Cost cost() const { return {.kernel = "nap of a product", .matmul = {1, 1, 1}}; }
};

TEST(Launch, TakesLongerOnlyForMatmulsIfOnlyTheyAreSlowed) {
    device::Stream stream{device::CpuStream{}};
    stream.slowness.set({.matmuls = 4});

    launch(stream, Nap{});
    EXPECT_EQ(stream.slowness.owed_seconds(), 0);
    launch(stream, SleepMatmul{});

    ASSERT_EQ(stream.ledger.entries().size(), 2);
    EXPECT_GE(stream.ledger.entries()[1].seconds, 4 * Nap::seconds);
    EXPECT_LE(stream.slowness.owed_seconds(), 0);
}

TEST(OperationCost, IdentifiesWeightMatmuls) {
    Operands t;
    const device::Tensor rows = t.random(3, 4), weight = t.random(4, 5), results = t.random(3, 5);
    const device::Tensor scores = t.random(3, 1);
    const Segment whole{.length = 3};
    const Attention attention{.query = rows,
                              .key = rows,
                              .value = rows,
                              .output = rows,
                              .log_sum = scores,
                              .shape = {.segments = {&whole, 1}}};

    EXPECT_TRUE((Linear{rows, weight, {}, results}.cost().is_weight_matmul()));
    EXPECT_TRUE((LinearBackwardInput{results, weight, rows}.cost().is_weight_matmul()));
    EXPECT_TRUE((LinearBackwardWeight{rows, results, weight, {}}.cost().is_weight_matmul()));
    EXPECT_FALSE(attention.cost().is_weight_matmul());
    EXPECT_FALSE((Fill{rows, 1}.cost().is_weight_matmul()));
}

// A write to a ghost's address would crash the program.
TEST(Launch, CountsFlopsOnAGhostStreamWithoutTouchingMemory) {
    device::Arena arena("ghost", 0, device::MemorySpace::ghost);
    device::Stream stream{device::GhostStream{}};
    const device::Tensor input = arena.tensor(device::DType::f32, 1 << 20, 1 << 12);
    const device::Tensor weight = arena.tensor(device::DType::f32, 1 << 12, 1 << 12);
    const device::Tensor output = arena.tensor(device::DType::f32, 1 << 20, 1 << 12);

    launch(stream, Linear{input, weight, {}, output});

    EXPECT_EQ(stream.ledger.flops(), 0x1p45);
}

}  // namespace
}  // namespace trireme::kernels
