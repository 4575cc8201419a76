// After a change of the layout, new replicas have the bits of their source: values and both moments.
#include <algorithm>
#include <bit>
#include <map>
#include <sstream>

#include "ranks/run/started_run.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme::run {
namespace {

using checkpoint::StateField;

// A number of a tensor or of one of its moments.
struct Element {
    std::string tensor;
    StateField field;
    std::size_t row, column;

    friend auto operator<=>(const Element&, const Element&) = default;
};

// The elements that this rank holds, as bits of numbers in f64.
using Held = std::map<Element, std::uint64_t>;

class ReplicaState : public validation::StartedRun {
protected:
    ReplicaState() : StartedRun({5, 9, 3, 7, 4, 8, 6, 2}) {
        config_.model.layers = 4;
        config_.model.width = 16;
        config_.model.heads = 4;
        config_.model.positions = 12;
        config_.model.dropout = 0.1;
        config_.precision = {.dtype = config::Precision::f64, .device = config::DeviceKind::reference};
        config_.layout.pipe = std::min(session_.size(), 6);
        config_.schedule.microbatches = 4;
    }

    void step() {
        trainer_->begin_segment(steps_, steps_ + 1);
        ++steps_;
        trainer_->step();
    }

    // Changes to `pipe` stages, each with the largest number of replicas that the ranks allow, and freezes
    // blocks.
    void shorten_pipeline(std::size_t pipe, int frozen) {
        const auto ranks = static_cast<std::size_t>(session_.size());
        plan::Decision decision{
            .step = steps_, .layout = {.layers = layers_}, .microbatches = 8, .frozen = frozen};
        for (std::size_t stage = 0; stage < pipe; ++stage) {
            const std::size_t begin = layers_ * stage / pipe;
            layout::StageLayout& made = decision.layout.stages.emplace_back();
            made.layers = {.begin = begin, .count = layers_ * (stage + 1) / pipe - begin};
            for (std::size_t rank = stage; rank < ranks / pipe * pipe; rank += pipe)
                made.replicas.push_back({.ranks = {static_cast<int>(rank)}, .shares = {1}});
        }
        for (std::size_t rank = ranks / pipe * pipe; rank < ranks; ++rank)
            decision.layout.idle.push_back(static_cast<int>(rank));
        adapt::PlanTransition transition = adapt::plan_transition(setup_->job, setup_->current, decision);
        carry_out_transition(transition, running());
    }

    Held held() const {
        Held elements;
        for (const checkpoint::StateView& view : trainer_->list_state_views()) {
            const auto values = view.memory.as<double>();
            for (std::size_t row = 0; row < view.box.rows.count; ++row)
                for (std::size_t column = 0; column < view.box.columns.count; ++column)
                    elements[{view.tensor, view.field, view.box.rows.begin + row,
                              view.box.columns.begin + column}] =
                        std::bit_cast<std::uint64_t>(values(row, column));
        }
        return elements;
    }

    // Returns the elements of all ranks. Expects that ranks that hold the same element hold the same bits.
    Held gather_held() {
        Held all;
        std::string own;
        for (const auto& [element, bits] : held())
            own += cat(element.tensor, ' ', static_cast<int>(element.field), ' ', element.row, ' ',
                       element.column, ' ', bits, '\n');
        holders_ = 0;
        for (const std::string& text : all_gather(*control_, own)) {
            std::istringstream in(text);
            Element element;
            int field = 0;
            std::uint64_t bits = 0;
            while (in >> element.tensor >> field >> element.row >> element.column >> bits) {
                element.field = checkpoint::to_state_field(static_cast<std::size_t>(field));
                const auto [found, is_new] = all.try_emplace(element, bits);
                if (!is_new && found->second != bits) ++different_bits_;
                ++holders_;
            }
        }
        return all;
    }

    // True if the tensor is one of the embedding or of the first `frozen` blocks. The head may share the table
    // of the embedding.
    static bool may_freeze(const std::string& tensor, int frozen) {
        const std::string of_blocks = "transformer.h.";
        if (!tensor.starts_with(of_blocks)) return tensor.starts_with("transformer.w");
        return std::stoi(tensor.substr(of_blocks.size())) < frozen;
    }

    // Expects that elements keep their bits, and that only moments of tensors that freeze disappear.
    void expect_same_bits(const Held& before, const Held& after, int frozen) const {
        std::size_t changed = 0, unknown = 0, missing = 0;
        for (const auto& [element, bits] : after) {
            const auto found = before.find(element);
            if (found == before.end())
                ++unknown;
            else if (found->second != bits)
                ++changed;
        }
        for (const auto& [element, bits] : before)
            if (!after.contains(element) &&
                (element.field == StateField::value || !may_freeze(element.tensor, frozen)))
                ++missing;
        EXPECT_EQ(changed, 0U);
        EXPECT_EQ(unknown, 0U);
        EXPECT_EQ(missing, 0U);
        EXPECT_EQ(different_bits_, 0U);
    }

    static std::size_t count(const Held& all, StateField field) {
        return static_cast<std::size_t>(
            std::ranges::count_if(all, [&](const auto& each) { return each.first.field == field; }));
    }

    void check(config::MoveMethod move, bool shards_optimizer) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(move) << ", sharded: " << shards_optimizer);
        config_.policy.move = move;
        config_.layout.shard_optimizer = shards_optimizer;
        staging_ = adapt::make_staging_memory(move, session_, watchdog_.wait_policy());
        start();
        layers_ = setup_->current.plan.layout.layers;
        steps_ = 0;
        for (int repeat = 0; repeat < 3; ++repeat) step();
        Held before = gather_held();

        std::size_t pipe = static_cast<std::size_t>(session_.size());
        for (const int frozen : {1, 3}) {
            pipe = (pipe + 1) / 2;
            shorten_pipeline(pipe, frozen);
            const Held after = gather_held();

            expect_same_bits(before, after, frozen);
            EXPECT_GT(holders_, after.size());  // replicas hold the same elements
            EXPECT_LT(count(after, StateField::moment1), count(before, StateField::moment1));
            EXPECT_GT(count(after, StateField::moment1), 0U);
            EXPECT_EQ(count(after, StateField::moment2), count(after, StateField::moment1));
            step();
            before = gather_held();  // updated replicas have equal bits, too
            EXPECT_EQ(different_bits_, 0U);
        }
    }

    std::size_t steps_ = 0;
    std::size_t layers_ = 0;
    std::size_t holders_ = 0;         // number of elements of all ranks in the last gather_held()
    std::size_t different_bits_ = 0;  // number of elements of a replica that differ from another replica's
};

TEST_F(ReplicaState, HasTheBitsOfItsSource) {
    for (const config::MoveMethod move : {config::MoveMethod::stop, config::MoveMethod::twins})
        for (const bool shards_optimizer : {true, false}) check(move, shards_optimizer);
}

}  // namespace
}  // namespace trireme::run
