// Writing checkpoints (README, *Files*): a folder step-N with
//   config.json       the model, as Hugging Face has it
//   tokenizer.json    if one is known
//   part-<save>-0.h5  the tensors under /parameters, each with its sha256, and the sha256s of the files above
//   model.h5          every tensor whole, by virtual datasets, for people
// written under a hidden name, synced, renamed into place; then the one-line file `latest` beside it names it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "trireme/archive/partial_folder.hpp"
#include "trireme/archive/safetensors.hpp"
#include "trireme/model/config.hpp"
#include "trireme/model/parameter.hpp"

namespace trireme {

struct CheckpointInfo {
    ModelConfig config;
    std::uint64_t step = 0;
    std::string tokenizer;  // the bytes of its tokenizer.json; empty: none
    std::string base_config =
        {};  // the config.json that the model began with, see config_json_of(); empty: none
};

class CheckpointWriter {
public:
    // A checkpoint in `folder`, which is made if need be; `existing` is what becomes of one of that step.
    // Throws ConfigError where nothing can be written there.
    CheckpointWriter(const std::filesystem::path& folder, const CheckpointInfo& info,
                     Existing existing = Existing::replaced);
    CheckpointWriter(CheckpointWriter&&) noexcept;
    ~CheckpointWriter();  // unfinished: leaves nothing behind

    // f32 or f64 values, as they are. `source` is the type they came from and go back to when they are
    // converted. Throws ResourceError where the disk refuses.
    void add(const ParameterSpec& spec, ConstTensor values, StoredType source);

    // The checkpoint's path, once it is whole and safe.
    std::filesystem::path finish();

private:
    struct Storage;
    std::unique_ptr<Storage> storage_;
};

}  // namespace trireme
