// Compares models of all families on the GPU with an independent implementation, Hugging Face's, through the
// records in validation/reference.
#include <gtest/gtest.h>

#include "trireme/device/buffer.hpp"
#include "trireme/device/gpu_times.hpp"
#include "trireme/kernels/gpu_stream.hpp"
#include "trireme/kernels/read.hpp"
#include "trireme/kernels/rows.hpp"
#include "trireme/stage/batch_upload.hpp"
#include "unit/stage/model_record.hpp"
#include "unit/stage/stage_numbers.hpp"

namespace trireme {
namespace {

struct Trial {
    device::DType dtype;
    std::string record;

    friend void PrintTo(const Trial& trial, std::ostream* out) {
        *out << to_string(trial.dtype) << trial.record;
    }
};

std::vector<Trial> all_trials() {
    std::vector<Trial> trials;
    for (const device::DType dtype : {device::DType::f64, device::DType::f32, device::DType::bf16})
        for (const std::string& record : stage::record_names()) trials.push_back({dtype, record});
    return trials;
}

class GpuModel : public testing::TestWithParam<Trial> {
protected:
    // Returns the allowed error. In f32: twice PyTorch's own error, or 1e-5. In bf16, where weights and
    // activations have 8 bits: the rounding error over a few layers, which is 5 % for one gradient and below 4
    // % for all others.
    double bar(double pytorch_f32_error) const {
        if (GetParam().dtype == device::DType::f64) return 1e-10;
        if (GetParam().dtype == device::DType::bf16) return 6e-2;
        return std::max(2 * pytorch_f32_error, 1e-5);
    }

    void set(const device::Tensor& on_gpu, const std::vector<double>& numbers) const {
        std::vector<double> exact = numbers;
        const device::Buffer wide(numbers.size() * sizeof(double), device::MemorySpace::gpu);
        const device::Tensor there{wide.data(),    device::DType::f64, on_gpu.rows,
                                   on_gpu.columns, on_gpu.columns,     device::MemorySpace::gpu};
        copy_rows(
            device::ConstTensor{exact.data(), device::DType::f64, on_gpu.rows, on_gpu.columns, on_gpu.columns},
            there);
        device::Stream stream = kernels::make_gpu_stream();
        launch(stream, kernels::Copy{.input = there, .output = on_gpu});
        stream.synchronize();
    }

    // Returns the number of calls of a kernel, from the stream's ledger.
    static std::size_t calls(device::Stream& stream, std::string_view kernel) {
        stream.synchronize();
        std::size_t calls = 0;
        for (const device::Ledger::Entry& entry : stream.ledger.entries())
            if (entry.total_cost.kernel == kernel) calls += entry.calls;
        return calls;
    }

    // Number of separate residual sums. All others are fused with a norm, except the last one of a pre-norm
    // model, and the gradients of a post-norm model.
    std::size_t count_separate_sums() const {
        return record_.config.family == model::Family::bert ? 2 * record_.config.layers : 1;
    }

    // True if the blocks' activation is fused with their matmuls: for GPT-2 in bf16.
    bool fuses_activations() const {
        const bool has_one = record_.config.family != model::Family::llama;
        return has_one && GetParam().dtype == device::DType::bf16 &&
               record_.config.activation == kernels::ActivationKind::gelu_tanh;
    }

    const stage::ModelRecord record_ = stage::read_record(GetParam().record);
};

TEST_P(GpuModel, MatchesTheLossAndGradientsOfHuggingFace) {
    device::Stream stream = kernels::make_gpu_stream();
    device::GpuUploader sender(stream.gpu_times->queue());
    const stage::TokenRows rows(record_.samples);
    const stage::UploadedBatch sent = stage::upload(rows.batch(), sender);
    const device::DType dtype = GetParam().dtype;
    stage::WholeModel model(record_.config, dtype, device::MemorySpace::gpu,
                            predict(record_.config, dtype, rows.shape()));
    for (std::size_t i = 0; i < model.parameters().size(); ++i)
        set(model.values()[i], record_.weights.at(model.parameters()[i].name));

    const auto count = static_cast<double>(record_.terms());
    const double loss = model.forward_backward(stream, sent.batch, {.loss_scale = 1 / count}) / count;

    EXPECT_EQ(calls(stream, "residual_add"), count_separate_sums());
    if (fuses_activations()) {
        EXPECT_EQ(calls(stream, "activation") + calls(stream, "activation_backward"), 0U);
    }
    EXPECT_LE(std::abs(loss - record_.plain.loss), bar(record_.plain.float32_loss_error) * record_.plain.loss);
    for (std::size_t i = 0; i < model.parameters().size(); ++i) {
        const std::string& name = model.parameters()[i].name;
        if (dtype == device::DType::bf16 && stage::is_without_effect(name, record_.config)) continue;
        const std::vector<double> gradient = kernels::read_values(stream, model.gradients()[i]);
        const double error = stage::error_of(gradient, record_.plain.gradients.at(name),
                                             stage::gradient_floor(record_.plain.gradients, name));
        EXPECT_LE(error, bar(record_.plain.float32_gradient_errors.at(name).at(0))) << name;
    }
}

INSTANTIATE_TEST_SUITE_P(Records, GpuModel, testing::ValuesIn(all_trials()), [](const auto& trial) {
    return std::string(to_string(trial.param.dtype)) + "_" + trial.param.record;
});

}  // namespace
}  // namespace trireme
