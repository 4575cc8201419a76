#include <algorithm>
#include <span>
#include <vector>

#include "tools/inspect/excerpts.hpp"
#include "tools/printed_text.hpp"
#include "trireme/base/error.hpp"
#include "trireme/checkpoint/stored_model.hpp"
#include "trireme/model/model.hpp"

namespace trireme::tools {
namespace fs = std::filesystem;
namespace {

std::uint64_t count_elements(const archive::StoredTensor& tensor) {
    std::uint64_t count = 1;
    for (const std::uint64_t extent : tensor.shape) count *= extent;
    return count;
}

std::string format_shape(const archive::StoredTensor& tensor) {
    std::string text;
    for (const std::uint64_t extent : tensor.shape)
        text += (text.empty() ? "" : " x ") + std::to_string(extent);
    return text.empty() ? "one number" : text;
}

void print_tensors(const std::vector<archive::StoredTensor>& tensors, std::ostream& out) {
    std::uint64_t elements = 0;
    std::uint64_t bytes = 0;
    std::size_t name_width = 0;
    for (const archive::StoredTensor& tensor : tensors) {
        elements += count_elements(tensor);
        bytes += tensor.count_bytes();
        name_width = std::max(name_width, sanitise_line(tensor.name).size());
    }
    print_fact(out, "tensors",
               cat(format_with_commas(tensors.size()), ", ", format_with_commas(elements), " values, ",
                   format_megabytes(static_cast<double>(bytes))));
    out << '\n';
    for (const archive::StoredTensor& tensor : tensors) {
        const std::string name = sanitise_line(tensor.name);
        const std::string type = to_string(tensor.type);
        out << "  " << name << std::string(name_width - name.size() + 2, ' ') << type
            << std::string(6 - type.size(), ' ') << format_shape(tensor) << '\n';
    }
}

std::string describe(const model::ModelConfig& config) {
    std::string text = cat(to_string(config.family), ", ", format_count(config.layers, "layer"), ", width ",
                           config.width, ", ", format_count(config.heads, "head"));
    if (config.key_value_heads() != config.heads)
        text += cat(" in ", format_count(config.key_value_heads(), "group"));
    text += cat(", MLP width ", config.mlp_width, ", ", config.positions, " positions");
    if (config.reads_images()) {
        text += cat(", images of ", config.image.size, " x ", config.image.size, " pixels in patches of ",
                    config.image.patch);
    } else {
        text += cat(", vocabulary ", format_with_commas(config.vocabulary));
    }
    return cat(text, ", task ", to_string(config.task));
}

void inspect_model(const fs::path& path, bool verify, std::ostream& out) {
    const checkpoint::StoredModel stored = checkpoint::StoredModel::open(path);
    const model::ModelConfig& config = stored.config();
    out << stored.path() << (stored.is_checkpoint() ? " is a Trireme checkpoint" : " is a Hugging Face model")
        << '\n';
    if (stored.is_checkpoint()) print_fact(out, "step", format_with_commas(stored.step()));
    print_fact(out, "model", describe(config));
    print_fact(out, "parameters", format_with_commas(count_parameters(config)));
    print_fact(
        out, "tokenizer",
        stored.tokenizer().empty() ? "none" : format_megabytes(static_cast<double>(stored.tokenizer().size())));
    print_tensors(stored.list_tensors(), out);
    if (!verify) return;
    {
        std::uint64_t bytes = 0;
        for (const archive::StoredTensor& tensor : stored.list_tensors()) bytes += tensor.count_bytes();
        if (stored.is_checkpoint()) bytes *= 1 + stored.state()->moments;  // verify() also reads the moments
        // At the end of this block, `progress` removes its line from the terminal, before the result is
        // printed.
        const checkpoint::ReadProgress progress(stored, bytes, /*is_quiet=*/false);
        stored.verify();
    }
    out << (stored.is_checkpoint()
                ? "\n  verified: every tensor has its recorded SHA-256\n"
                : "\n  read: every tensor is complete; safetensors files record no checksums\n");
}

// Lists the tensors of a .safetensors file whose model is unknown, because its folder has no config.json.
void inspect_tensors(const fs::path& path, bool verify, std::ostream& out) {
    const archive::SafetensorsFile file = archive::SafetensorsFile::open(path);
    std::vector<archive::StoredTensor> tensors = file.header().tensors;
    std::sort(tensors.begin(), tensors.end(),
              [](const archive::StoredTensor& a, const archive::StoredTensor& b) { return a.name < b.name; });
    out << path.string() << " is a safetensors file; its model is unknown, because its folder has no config.json\n";
    for (const auto& [name, value] : file.header().metadata) print_fact(out, name, value);
    print_tensors(tensors, out);
    if (!verify) return;
    std::vector<std::byte> block(std::size_t{4} << 20);
    for (const archive::StoredTensor& tensor : tensors)
        for (std::uint64_t begin = 0; begin < tensor.count_bytes(); begin += block.size())
            file.read(tensor, begin,
                      std::span(block).first(std::min(block.size(), tensor.count_bytes() - begin)));
    out << "\n  read: every tensor is complete; safetensors files record no checksums\n";
}

}  // namespace

bool may_hold_weights(const fs::path& path) {
    std::error_code ignored;
    return fs::is_directory(path, ignored) || path.extension() == ".safetensors";
}

void inspect_weights(const fs::path& path, bool verify, std::ostream& out) {
    std::error_code ignored;
    const bool is_file = !fs::is_directory(path, ignored);
    if (is_file && !fs::exists(path.parent_path() / "config.json", ignored))
        return inspect_tensors(path, verify, out);
    inspect_model(path, verify, out);
}

}  // namespace trireme::tools
