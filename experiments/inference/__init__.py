"""What did the authors run? The settings that agree with the paper's numbers and sentences.

``conf/inference/registered.yaml`` is the design, fixed before the study was run. A *specification*
is one choice for every unstated setting.
"""
