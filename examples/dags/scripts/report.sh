# This file is a template: it is rendered before bash sees it.
echo "Report of {{ ds }} for {{ params.team }}"
{% if params.loud %}
echo "{{ params.team | upper }}!"
{% endif %}
