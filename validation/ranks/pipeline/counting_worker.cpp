#include "ranks/pipeline/counting_worker.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "trireme/layout/shares.hpp"

namespace trireme::pipeline {
namespace {

constexpr std::int64_t overwritten = -1;  // marks a result that was sent
constexpr std::int64_t not_arrived = -2;  // marks memory whose message has not arrived

}  // namespace

CountingWorker::Passing CountingWorker::result_of(const schedule::Instruction& send) {
    const bool is_forward = send.op == schedule::Op::send_forward;
    return {is_forward ? Direction::forward : Direction::backward, send.stage, send.microbatch};
}

CountingWorker::Passing CountingWorker::find_input(const schedule::Instruction& receive) {
    const bool is_forward = receive.op == schedule::Op::receive_forward;
    return {is_forward ? Direction::forward : Direction::backward, receive.stage + (is_forward ? -1 : 1),
            receive.microbatch};
}

layout::Range CountingWorker::own_rows(int microbatch) const {
    return layout::cut_evenly(count_rows(microbatch), work_.parts)[work_.part];
}

CountingWorker::Numbers CountingWorker::numbers_of(const Passing& passing) const {
    const auto [direction, stage, microbatch] = passing;
    const layout::Range own = own_rows(microbatch);
    Numbers numbers;
    for (std::size_t row = own.begin; row < own.end(); ++row) {
        for (std::size_t column = 0; column < work_.width; ++column) {
            std::int64_t number = direction == Direction::forward ? 1 : 2;
            number = 100 * number + rolled_back_updates_;
            number = 100 * number + stage;
            number = 100 * number + microbatch;
            number = 100 * number + static_cast<std::int64_t>(row);
            numbers.push_back(100'000 * number + static_cast<std::int64_t>(column));
        }
    }
    return numbers;
}

template <class View>
View CountingWorker::make_view(Numbers& numbers, int microbatch) const {
    return {numbers.data(), device::DType::i64, own_rows(microbatch).count, work_.width, work_.width};
}

int CountingWorker::reader_of(const Passing& passing) const {
    const auto [direction, stage, microbatch] = passing;
    const int reader = stage + (direction == Direction::forward ? 1 : -1);
    return reader < 0 || reader == work_.shape.stages() ? -1 : work_.shape.find_executor(reader, microbatch);
}

bool CountingWorker::leaves(const Passing& passing) const {
    const int reader = reader_of(passing);
    return reader >= 0 && reader != work_.team;
}

device::Tensor CountingWorker::provide_receive_buffer(const schedule::Instruction& receive) {
    const Passing passing = find_input(receive);
    EXPECT_EQ(++times_asked_[passing], 1) << to_string(receive);
    Numbers& place = placed_[passing];
    place.assign(own_rows(receive.microbatch).count * work_.width, not_arrived);
    return make_view<device::Tensor>(place, receive.microbatch);
}

device::ConstTensor CountingWorker::find_send_buffer(const schedule::Instruction& send) {
    const Passing passing = result_of(send);
    EXPECT_EQ(++times_asked_[passing], 1) << to_string(send);
    EXPECT_TRUE(made_.contains(passing)) << to_string(send);
    return make_view<device::ConstTensor>(made_[passing], send.microbatch);
}

// Overwrites the result, because the memory is free for other uses from here on.
void CountingWorker::finish_send(const schedule::Instruction& send) {
    const Passing passing = result_of(send);
    EXPECT_EQ(times_asked_[passing], 1) << to_string(send);
    EXPECT_EQ(++times_sent_[passing], 1) << to_string(send);
    Numbers& result = made_[passing];
    std::fill(result.begin(), result.end(), overwritten);
    --in_channel_[{reader_of(passing), std::get<Direction>(passing)}];
}

void CountingWorker::run(const schedule::Instruction& instruction) {
    if (std::erase(undone_, instruction) == 0) ran_.push_back(instruction);
    if (!has_microbatch(instruction.op)) return;
    EXPECT_GT(count_rows(instruction.microbatch), 0U) << to_string(instruction);
    if (instruction.op == schedule::Op::forward) return forward(instruction);
    if (instruction.op == schedule::Op::backward || instruction.op == schedule::Op::backward_input)
        backward(instruction);
    if (instruction.op != schedule::Op::backward_input) expect_own_result_sent(instruction);
}

bool CountingWorker::validate_update(const schedule::Instruction& validate) {
    ran_.push_back(validate);
    if (validates_[validate.stage]++ < validated_) return true;
    const bool stands = !work_.rollbacks || validated_ % 2 == 0;
    ++validated_;
    rolled_back_updates_ += stands ? 0 : 1;
    return stands;
}

// Forgets the forward and its messages.
void CountingWorker::discard_forward(const schedule::Instruction& forward) {
    const auto [op, stage, microbatch, age, mhz] = forward;
    const Passing result{Direction::forward, stage, microbatch};
    EXPECT_EQ(times_asked_[result], times_sent_[result]) << to_string(forward);
    if (leaves(result) && times_asked_[result] == 0) --in_channel_[{reader_of(result), Direction::forward}];
    for (const Passing& passing : {result, Passing{Direction::forward, stage - 1, microbatch}}) {
        times_asked_.erase(passing);
        times_sent_.erase(passing);
    }
    made_.erase(result);
    placed_.erase({Direction::forward, stage - 1, microbatch});
    undone_.push_back(forward);
}

void CountingWorker::forward(const schedule::Instruction& instruction) {
    const auto [op, stage, microbatch, age, mhz] = instruction;
    if (stage > 0) read({Direction::forward, stage - 1, microbatch}, instruction);
    make({Direction::forward, stage, microbatch});
}

void CountingWorker::backward(const schedule::Instruction& instruction) {
    const auto [op, stage, microbatch, age, mhz] = instruction;
    const bool is_last = stage + 1 == work_.shape.stages();
    if (!is_last) read({Direction::backward, stage + 1, microbatch}, instruction);
    make({Direction::backward, stage, microbatch});
}

// The memory of the forward result is freed with the rest of the micro-batch.
void CountingWorker::expect_own_result_sent(const schedule::Instruction& backward) const {
    const Passing passing{Direction::forward, backward.stage, backward.microbatch};
    if (leaves(passing)) {
        EXPECT_TRUE(times_sent_.contains(passing)) << to_string(backward);
    }
}

void CountingWorker::read(const Passing& passing, const schedule::Instruction& reader) {
    const auto [direction, stage, microbatch] = passing;
    const bool is_received = work_.shape.find_executor(stage, microbatch) != work_.team;
    const std::map<Passing, Numbers>& found = is_received ? placed_ : made_;
    ASSERT_TRUE(found.contains(passing)) << to_string(reader);
    EXPECT_EQ(found.at(passing), numbers_of(passing)) << to_string(reader);
}

// Expects no more unsent results than a channel has slots.
void CountingWorker::make(const Passing& passing) {
    made_[passing] = numbers_of(passing);
    if (!leaves(passing)) return;
    const int in_channel = ++in_channel_[{reader_of(passing), std::get<Direction>(passing)}];
    EXPECT_LE(in_channel, work_.shape.slots);
}

void CountingWorker::expect_all_done(const schedule::Program& program) const {
    schedule::Program expected;
    for (const schedule::Instruction& each : program) {
        if (has_microbatch(each.op) && count_rows(each.microbatch) == 0) continue;
        if (is_send(each.op)) {
            EXPECT_TRUE(times_sent_.contains(result_of(each))) << to_string(each);
        } else if (is_receive(each.op)) {
            EXPECT_TRUE(times_asked_.contains(find_input(each))) << to_string(each);
        } else {
            expected.push_back(each);
        }
    }
    EXPECT_EQ(to_string(ran_), to_string(expected));
    EXPECT_EQ(to_string(undone_), "");
}

}  // namespace trireme::pipeline
