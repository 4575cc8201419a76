// Tests that the optimizer state in the place of a step's buffers leaves in time and returns unchanged.
#include <cstring>

#include "trireme/base/numbers.hpp"
#include "unit/stage/stages_of.hpp"

namespace trireme::stage {
namespace {

// A store that copies as late as permitted, and overwrites what has left. A buffer that is used before its
// memory is free, or a state that is read before it has returned, then has wrong values.
class LateStore final : public device::OffloadStore {
public:
    explicit LateStore(std::size_t bytes) : memory_(bytes) {}

    std::unique_ptr<Transfer> save(const std::byte* memory, std::size_t offset, std::size_t bytes) override {
        if (is_in_step) saved_bytes += bytes;
        return std::make_unique<Copy>([=, this] {
            std::memcpy(memory_.data() + offset, memory, bytes);
            std::memset(const_cast<std::byte*>(memory), 0x7f, bytes);
        });
    }
    std::unique_ptr<Transfer> load(std::byte* memory, std::size_t offset, std::size_t bytes) override {
        if (is_in_step) loaded_bytes += bytes;
        return std::make_unique<Copy>([=, this] { std::memcpy(memory, memory_.data() + offset, bytes); });
    }

    bool is_in_step = false;
    std::size_t saved_bytes = 0;  // in the step
    std::size_t loaded_bytes = 0;

private:
    struct Copy final : Transfer {
        explicit Copy(std::function<void()> call) : copy(std::move(call)) {}
        void wait() override {
            if (copy) std::exchange(copy, {})();
        }

        std::function<void()> copy;
    };

    std::vector<std::byte> memory_;
};

class OffloadedState : public ModelStages {};

// Half of the memory that the step needs is the place of optimizer state.
TEST_P(OffloadedState, LeavesDuringAStepAndReturns) {
    LocalWork work = make_local_work(0, {0, 1});
    const schedule::PipelineShape shape = make_shape(1, 3);
    for (const char* const text :
         {"0F0 0F1 0F2 1F0 1F1 1F2 1B2 1B1 1B0 0B1 0B0 0B2 REDUCE1 REDUCE0 STEP0 STEP1",
          "0F0 1F0 1I0 0I0 0F1 1F1 1I1 1W0 0F2 1F2 1I2 0I1 0W0 1W2 0I2 1W1 0W2 0W1 "
          "REDUCE0 REDUCE1 STEP0 STEP1"}) {
        SCOPED_TRACE(text);
        const schedule::Program program = program_of(text);
        const Execution round = round_of(shape, program);
        LocalStages without(work, nullptr, device::MemorySpace::host);
        take_weights(without);
        run_all(without, round);
        LocalWork limited = work;
        std::vector<BatchShape> shapes;
        for (const model::TokenBatch* const batch : make_step(round).batches)
            shapes.push_back(find_shape(*batch));
        limited.max_step_bytes = StepMemoryPlanner(work).plan_step(program, work.team, shape, shapes).bytes;
        limited.offloadable_bytes = limited.max_step_bytes / 2 / cache_line_bytes * cache_line_bytes;
        limited.max_step_bytes += cache_line_bytes;  // state that stays, because no buffer needs its place
        limited.offloadable_bytes += cache_line_bytes;
        LocalStages stages(limited, nullptr, device::MemorySpace::host);
        take_weights(stages);
        device::BufferPart state = stages.buffers().state_memory();
        ASSERT_EQ(state.bytes, limited.offloadable_bytes);
        for (std::size_t i = 0; i < state.bytes; ++i) state.data()[i] = static_cast<std::byte>(i % 251);
        LateStore store(state.bytes);
        const auto place = [&](const device::BufferPart& memory) { state = memory; };
        stages.buffers().move_state_into_block(store, place);

        store.is_in_step = true;
        run_all(stages, round);
        store.is_in_step = false;
        stages.buffers().move_state_out_of_block(store, place);

        for (std::size_t i = 0; i < state.bytes; ++i)
            ASSERT_EQ(state.data()[i], static_cast<std::byte>(i % 251)) << i;
        EXPECT_EQ(losses_of(stages), losses_of(without));
        const NamedNumbers expected = read_gradients(without);
        for (const auto& [name, gradient] : read_gradients(stages)) EXPECT_EQ(gradient, expected.at(name));
        EXPECT_EQ(store.saved_bytes, state.bytes - cache_line_bytes);
        EXPECT_EQ(store.loaded_bytes, store.saved_bytes);
    }
}

INSTANTIATE_TEST_SUITE_P(Models, OffloadedState, testing::ValuesIn(list_small_models()),
                         [](const auto& model) { return testing::PrintToString(model.param); });

}  // namespace
}  // namespace trireme::stage
